//! Reading `[report]`: the pictures that a study requests, with the line of each error.

use toml_edit::{InlineTable, Value};

use super::names::{known_factor, known_level, label};
use crate::definition::{Factor, NamedMetric};
use crate::error::StudyError;
use crate::keys::REPORT;
use crate::picture::{Bars, Picture, PictureKind, Scale};
use crate::section::{Section, begin, shown};
use bitcost_model::near::did_you_mean;
use bitcost_model::study::Label;

const FORM: &str =
    "a kind, or a table such as { kind = \"curve\", metrics = [\"throughput_mbps\"] }";

/// The pictures in the order of the study; absent where the study names none.
pub fn pictures(top: &Section, factors: &[Factor]) -> Result<Option<Vec<Picture>>, StudyError> {
    let Some(section) = top.section("report")? else {
        return Ok(None);
    };
    section.only(&REPORT.names())?;
    let list = |value: &Value| {
        value
            .as_array()
            .map(|list| list.iter().cloned().collect::<Vec<Value>>())
    };
    let Some(list) = section.typed("pictures", "a list of pictures", list)? else {
        return Ok(None);
    };
    list.iter()
        .map(|value| picture(&section, value, factors))
        .collect::<Result<_, _>>()
        .map(Some)
}

/// Every metric that a picture names.
pub fn named(top: &Section) -> Result<Vec<NamedMetric>, StudyError> {
    let Some(section) = top.section("report")? else {
        return Ok(Vec::new());
    };
    let list = section.value("pictures")?.and_then(Value::as_array);
    let tables = list
        .into_iter()
        .flatten()
        .filter_map(Value::as_inline_table);
    let metrics = tables
        .filter_map(|table| table.get("metrics")?.as_array())
        .flatten();
    let named = |value: &Value| NamedMetric {
        name: value.as_str().unwrap_or_default().to_owned(),
        offset: begin(value),
    };
    Ok(metrics.map(named).collect())
}

fn picture(section: &Section, value: &Value, factors: &[Factor]) -> Result<Picture, StudyError> {
    let error = |message: String| section.source.error(value.span(), message);
    if let Some(name) = value.as_str() {
        return kind(name).map(Picture::plain).map_err(error);
    }
    let Some(table) = value.as_inline_table() else {
        return Err(error(format!(
            "a picture is {}; allowed: {FORM}",
            shown(value)
        )));
    };
    let name = table.get("kind").and_then(Value::as_str);
    let name = name.ok_or_else(|| error(format!("a picture without a `kind`; allowed: {FORM}")))?;
    let mut picture = Picture::plain(kind(name).map_err(error)?);
    let keys = picture.kind.keys();
    if let Some((key, _)) = table
        .iter()
        .find(|(key, _)| *key != "kind" && !keys.contains(key))
    {
        let hint = did_you_mean(key, keys.iter().copied());
        return Err(error(format!(
            "unknown key `{key}` of a picture `{name}`{hint}; allowed: {}",
            keys.join(", ")
        )));
    }
    picture.title = text(table, "title").map_err(error)?;
    picture.metrics = metrics(table).map_err(error)?;
    if let Some(bars) = choice(table, "bars", Bars::named, &Bars::NAMES).map_err(error)? {
        picture.bars = bars;
    }
    picture.x = choice(table, "x", Scale::named, &Scale::NAMES).map_err(error)?;
    picture.y = choice(table, "y", Scale::named, &Scale::NAMES).map_err(error)?;
    if let Some(of) = table.get("of") {
        picture.of = levels(section, of, factors)?;
    }
    Ok(picture)
}

fn kind(name: &str) -> Result<PictureKind, String> {
    choose("picture", name, PictureKind::named, &PictureKind::NAMES)
}

fn choice<T>(
    table: &InlineTable,
    key: &str,
    named: fn(&str) -> Option<T>,
    names: &[&str],
) -> Result<Option<T>, String> {
    text(table, key)?
        .map(|name| choose(&format!("`{key}`"), &name, named, names))
        .transpose()
}

fn choose<T>(
    what: &str,
    name: &str,
    named: fn(&str) -> Option<T>,
    names: &[&str],
) -> Result<T, String> {
    named(name).ok_or_else(|| {
        let hint = did_you_mean(name, names.iter().copied());
        let allowed = names.join(", ");
        format!("unknown {what} `{name}`{hint}; allowed: {allowed}")
    })
}

fn text(table: &InlineTable, key: &str) -> Result<Option<String>, String> {
    let Some(value) = table.get(key) else {
        return Ok(None);
    };
    match value.as_str() {
        Some(text) => Ok(Some(text.to_owned())),
        None => Err(format!("`{key}` is {}; allowed: a string", shown(value))),
    }
}

fn metrics(table: &InlineTable) -> Result<Vec<String>, String> {
    let Some(value) = table.get("metrics") else {
        return Ok(Vec::new());
    };
    let list = value.as_array().and_then(|list| {
        list.iter()
            .map(|name| name.as_str().map(str::to_owned))
            .collect()
    });
    list.ok_or_else(|| {
        format!(
            "`metrics` is {}; allowed: a list of metric names",
            shown(value)
        )
    })
}

/// `{ factor = level }` or `{ factor = [level, level] }`.
fn levels(
    section: &Section,
    of: &Value,
    factors: &[Factor],
) -> Result<Vec<(String, Vec<Label>)>, StudyError> {
    let at = |message: String| section.source.error(of.span(), message);
    let table = of.as_inline_table();
    let table = table.ok_or_else(|| {
        at(format!(
            "`of` is {}; allowed: a table such as {{ factor = [level, level] }}",
            shown(of)
        ))
    })?;
    let one = |(name, value): (&str, &Value)| -> Result<(String, Vec<Label>), StudyError> {
        let factor =
            known_factor(section, "pictures", name, factors).map_err(|error| at(error.message))?;
        let labels: Option<Vec<Label>> = match value.as_array() {
            Some(list) => list.iter().map(label).collect(),
            None => label(value).map(|label| vec![label]),
        };
        let labels = labels.filter(|labels| !labels.is_empty());
        let labels =
            labels.ok_or_else(|| at(format!("`{name}` is {}; allowed: levels", shown(value))))?;
        let known = |label| {
            known_level(section, "pictures", factor, label).map_err(|error| at(error.message))
        };
        labels.iter().try_for_each(known)?;
        Ok((name.to_owned(), labels))
    };
    table.iter().map(one).collect()
}
