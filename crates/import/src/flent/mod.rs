//! flent's data files: series over time, compressed or not.

mod series;

use std::collections::BTreeMap;

use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::Role;
use bitcost_model::study::Label;
use serde_json::Value;

use crate::Found;
use crate::columns::plain;
use crate::lenient::documents;

use self::series::{Kinds, Series};

pub(crate) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{')
        && text.contains("\"x_values\"")
        && text.contains("\"results\"")
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (documents, rest) = documents(text);
    let Some(document) = documents.first() else {
        return Err(format!(
            "its JSON cannot be read: {}",
            rest.map(|rest| rest.why).unwrap_or_default()
        ));
    };
    let series = document["results"]
        .as_object()
        .ok_or("`results` is not an object")?;
    let times: Vec<f64> = document["x_values"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect();
    let metadata = &document["metadata"];
    let mut found = Found::of("flent", file);
    settings(&mut found, metadata);
    let named: Vec<(&String, Vec<Option<f64>>)> = series
        .iter()
        .map(|(name, values)| {
            (
                name,
                values
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(Value::as_f64)
                    .collect(),
            )
        })
        .collect();
    let mut used = Kinds::default();
    for (name, values) in &named {
        used.take(name, &metadata["SERIES_META"][*name], values);
    }
    used.figures(&mut found);
    for (name, values) in &named {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        if !known.is_empty() {
            found.fact(
                &format!("mean of {name}"),
                known.iter().sum::<f64>() / known.len() as f64,
            );
        }
    }
    intervals(&mut found, &used, &times);
    if let Some(rest) = rest {
        found.run.notes.push(format!(
            "{file}: what follows the document could not be read: {}",
            rest.why
        ));
    }
    found.error = error(&found, &used, metadata, named.len());
    Ok(vec![found])
}

/// The reason why a test gave no result.
fn error(found: &Found, used: &Kinds, metadata: &Value, series: usize) -> Option<String> {
    let failed = metadata["FAILED_RUNNERS"].as_u64().unwrap_or(0);
    if failed > 0 && used.is_without_traffic() {
        return Some(format!(
            "{failed} of flent's runners failed, and no series of throughput has values"
        ));
    }
    let silent = found.run.figures.is_empty();
    silent.then(|| format!("no series of throughput or latency among {series} series"))
}

fn settings(found: &mut Found, metadata: &Value) {
    for (key, factor) in [("NAME", "test"), ("TITLE", "brand")] {
        if let Some(word) = metadata[key].as_str().filter(|word| !word.is_empty()) {
            found.level(factor, Label::Text(word.to_owned()));
        }
    }
    for (name, value) in metadata["TEST_PARAMETERS"]
        .as_object()
        .into_iter()
        .flatten()
    {
        let words = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let factor = plain(name);
        if !factor.is_empty() && !found.levels.contains_key(&factor) {
            let label = words.parse().map_or(Label::Text(words), Label::Number);
            found.level(&factor, label);
        }
    }
    if let Some(version) = metadata["IP_VERSION"].as_i64() {
        found.level("ip_version", Label::Number(version));
    }
    found.run.began_at = metadata["TIME"]
        .as_str()
        .or(metadata["T0"].as_str())
        .map(str::to_owned);
    for key in [
        "DATA_FILENAME",
        "HOST",
        "LOCAL_HOST",
        "LENGTH",
        "STEP_SIZE",
        "FLENT_VERSION",
        "FAILED_RUNNERS",
        "NOTE",
    ] {
        match &metadata[key] {
            Value::Null => {}
            Value::String(word) => found.fact(key, word),
            other => found.fact(key, other),
        }
    }
    found.run.tool_version = metadata["FLENT_VERSION"].as_str().map(str::to_owned);
}

/// The intervals between consecutive times of the series.
fn intervals(found: &mut Found, used: &Kinds, times: &[f64]) {
    let at = |all: &[Series], place: usize| {
        let values: Vec<f64> = all
            .iter()
            .filter_map(|series| *series.get(place)?)
            .collect();
        (!values.is_empty()).then_some(values)
    };
    let streams = if used.upload.is_empty() {
        &used.download
    } else {
        &used.upload
    };
    for (place, pair) in times.windows(2).enumerate() {
        let (begin_s, end_s) = (pair[0], pair[1]);
        let mut figures = BTreeMap::new();
        let rate = at(streams, place + 1).map(|values| values.iter().sum::<f64>());
        figures.extend(rate.map(|rate| ("throughput_mbps".to_owned(), rate)));
        let ping = at(&used.latency_ms, place + 1)
            .map(|values| 1000.0 * values.iter().sum::<f64>() / values.len() as f64);
        figures.extend(ping.map(|us| ("latency_us".to_owned(), us)));
        if !figures.is_empty() && end_s > begin_s {
            found.run.intervals.push(ImportedInterval {
                end: Role::Sender,
                begin_s,
                end_s,
                figures,
            });
        }
    }
}
