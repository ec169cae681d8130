//! flent's data files: series over time, packed or not.

use std::collections::BTreeMap;

use model::imported::ImportedInterval;
use model::record::Role;
use model::study::Label;
use serde_json::Value;

use crate::Found;
use crate::lenient::documents;

pub(crate) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"x_values\"") && text.contains("\"results\"")
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (documents, rest) = documents(text);
    let Some(document) = documents.first() else {
        return Err(format!("its JSON cannot be read: {}", rest.map(|rest| rest.why).unwrap_or_default()));
    };
    let series = document["results"].as_object().ok_or("`results` is no object")?;
    let times: Vec<f64> = document["x_values"].as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
    let metadata = &document["metadata"];
    let mut found = Found::of("flent", file);
    settings(&mut found, metadata);
    let named: Vec<(&String, Vec<Option<f64>>)> = series
        .iter()
        .map(|(name, values)| (name, values.as_array().into_iter().flatten().map(Value::as_f64).collect()))
        .collect();
    let mut used = Kinds::default();
    for (name, values) in &named {
        used.take(name, units(metadata, name), values);
    }
    used.figures(&mut found);
    for (name, values) in &named {
        let known: Vec<f64> = values.iter().flatten().copied().collect();
        if !known.is_empty() {
            found.fact(&format!("mean of {name}"), known.iter().sum::<f64>() / known.len() as f64);
        }
    }
    intervals(&mut found, &used, &times);
    if let Some(rest) = rest {
        found.run.notes.push(format!("{file}: what follows the document could not be read: {}", rest.why));
    }
    if found.run.figures.is_empty() {
        found.error = Some(format!("no series of throughput or latency among {} series", named.len()));
    }
    Ok(vec![found])
}

fn settings(found: &mut Found, metadata: &Value) {
    for (key, factor) in [("NAME", "test"), ("TITLE", "brand")] {
        if let Some(word) = metadata[key].as_str().filter(|word| !word.is_empty()) {
            found.level(factor, Label::Text(word.to_owned()));
        }
    }
    found.run.began_at = metadata["TIME"].as_str().or(metadata["T0"].as_str()).map(str::to_owned);
    for key in ["DATA_FILENAME", "HOST", "LOCAL_HOST", "LENGTH", "STEP_SIZE", "FLENT_VERSION"] {
        match &metadata[key] {
            Value::Null => {}
            Value::String(word) => found.fact(key, word),
            other => found.fact(key, other),
        }
    }
    found.run.tool_version = metadata["FLENT_VERSION"].as_str().map(str::to_owned);
}

fn units<'a>(metadata: &'a Value, name: &str) -> Option<&'a str> {
    metadata["SERIES_META"][name]["UNITS"].as_str()
}

type Series = Vec<Option<f64>>;

/// The series that are throughput and latency. Sums and averages that flent computes from others are not among them.
#[derive(Default)]
struct Kinds {
    upload: Vec<Series>,
    download: Vec<Series>,
    latency_ms: Vec<Series>,
}

impl Kinds {
    fn take(&mut self, name: &str, units: Option<&str>, values: &[Option<f64>]) {
        let lower = name.to_ascii_lowercase();
        let derived = [" sum", " avg", "totals", "fairness", "::"].iter().any(|word| lower.contains(word));
        if derived || values.iter().all(Option::is_none) {
            return;
        }
        let is_rate =
            units.map_or(lower.contains("tcp") || lower.contains("udp"), |units| units.eq_ignore_ascii_case("mbits/s"));
        let is_time = units.map_or(lower.contains("ping"), |units| units == "ms") && lower.contains("ping");
        match () {
            () if is_time => self.latency_ms.push(values.to_vec()),
            () if is_rate && lower.contains("download") => self.download.push(values.to_vec()),
            () if is_rate && lower.contains("upload") => self.upload.push(values.to_vec()),
            () => {}
        }
    }

    fn figures(&self, found: &mut Found) {
        let mean = |series: &Series| {
            let known: Vec<f64> = series.iter().flatten().copied().collect();
            known.iter().sum::<f64>() / known.len() as f64
        };
        let total = |all: &[Series]| (!all.is_empty()).then(|| all.iter().map(mean).sum::<f64>());
        let (up, down) = (total(&self.upload), total(&self.download));
        found.figure("throughput_mbps", up.or(down));
        found.figure("beside_throughput_mbps", down.filter(|_| up.is_some()));
        let mut times: Vec<f64> = self.latency_ms.iter().flatten().flatten().map(|ms| ms * 1000.0).collect();
        times.sort_by(f64::total_cmp);
        if let Some(longest) = times.last() {
            let name = if up.or(down).is_some() { "beside_latency" } else { "latency" };
            let at = |share: f64| times[((share * times.len() as f64).ceil() as usize).clamp(1, times.len()) - 1];
            found.figure(&format!("{name}_mean_us"), Some(times.iter().sum::<f64>() / times.len() as f64));
            for (share, suffix) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
                found.figure(&format!("{name}_{suffix}_us"), Some(at(share)));
            }
            found.figure(&format!("{name}_max_us"), Some(*longest));
        }
    }
}

/// What went on between two times of the series.
fn intervals(found: &mut Found, used: &Kinds, times: &[f64]) {
    let at = |all: &[Series], place: usize| {
        let values: Vec<f64> = all.iter().filter_map(|series| *series.get(place)?).collect();
        (!values.is_empty()).then_some(values)
    };
    let streams = if used.upload.is_empty() { &used.download } else { &used.upload };
    for (place, pair) in times.windows(2).enumerate() {
        let (begin_s, end_s) = (pair[0], pair[1]);
        let mut figures = BTreeMap::new();
        let rate = at(streams, place + 1).map(|values| values.iter().sum::<f64>());
        figures.extend(rate.map(|rate| ("throughput_mbps".to_owned(), rate)));
        let ping =
            at(&used.latency_ms, place + 1).map(|values| 1000.0 * values.iter().sum::<f64>() / values.len() as f64);
        figures.extend(ping.map(|us| ("latency_us".to_owned(), us)));
        if !figures.is_empty() && end_s > begin_s {
            found.run.intervals.push(ImportedInterval { end: Role::Sender, begin_s, end_s, figures });
        }
    }
}
