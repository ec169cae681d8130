//! Reading `[report]`: the pictures that a study requests, with the line of each error.

use toml_edit::Value;

use super::names::{known_factor, known_level, label};
use crate::definition::{Factor, NamedMetric};
use crate::error::StudyError;
use crate::keys::REPORT;
use crate::picture::{Bars, Picture, PictureKind, Scale};
use crate::section::{Section, Source, begin, shown};
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
    let list = |value: &Value| Some(value.as_array()?.iter().cloned().collect::<Vec<_>>());
    let list = section.typed("pictures", "a list of pictures", list)?;
    let read = |list: Vec<Value>| {
        let pictures = list
            .iter()
            .map(|value| picture(section.source, value, factors));
        pictures.collect::<Result<_, _>>()
    };
    list.map(read).transpose()
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

fn picture(source: Source, value: &Value, factors: &[Factor]) -> Result<Picture, StudyError> {
    let error = |message: String| source.error(value.span(), message);
    if let Some(name) = value.as_str() {
        return kind(name).map(Picture::plain).map_err(error);
    }
    let table = value.as_inline_table();
    let table =
        table.ok_or_else(|| error(format!("a picture is {}; allowed: {FORM}", shown(value))))?;
    let section = Section {
        source,
        name: "report".to_owned(),
        table,
        span: value.span(),
    };
    let name = table.get("kind").and_then(Value::as_str);
    let name = name.ok_or_else(|| error(format!("a picture without a `kind`; allowed: {FORM}")))?;
    let mut picture = Picture::plain(kind(name).map_err(error)?);
    let keys = picture.kind.keys();
    let mut given = table.iter().map(|(key, _)| key);
    if let Some(key) = given.find(|key| *key != "kind" && !keys.contains(key)) {
        let hint = did_you_mean(key, keys.iter().copied());
        return Err(error(format!(
            "unknown key `{key}` of a picture `{name}`{hint}; allowed: {}",
            keys.join(", ")
        )));
    }
    let names = |value: &Value| {
        let names = value.as_array()?.iter();
        names.map(|name| name.as_str().map(str::to_owned)).collect()
    };
    picture.title = section.text("title")?;
    picture.metrics = section
        .typed("metrics", "a list of metric names", names)?
        .unwrap_or_default();
    if let Some(bars) = choice(&section, "bars", Bars::named, &Bars::NAMES)? {
        picture.bars = bars;
    }
    picture.x = choice(&section, "x", Scale::named, &Scale::NAMES)?;
    picture.y = choice(&section, "y", Scale::named, &Scale::NAMES)?;
    if let Some(of) = section.value("of")? {
        picture.of = levels(&section, of, factors)?;
    }
    Ok(picture)
}

fn kind(name: &str) -> Result<PictureKind, String> {
    choose("picture", name, PictureKind::named, &PictureKind::NAMES)
}

fn choice<T>(
    section: &Section,
    key: &str,
    named: fn(&str) -> Option<T>,
    names: &[&str],
) -> Result<Option<T>, StudyError> {
    let chosen = section
        .text(key)?
        .map(|name| choose(&format!("`{key}`"), &name, named, names));
    chosen
        .transpose()
        .map_err(|message| section.error_at(key, message))
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

/// `{ factor = level }` or `{ factor = [level, level] }`.
fn levels(
    section: &Section,
    of: &Value,
    factors: &[Factor],
) -> Result<Vec<(String, Vec<Label>)>, StudyError> {
    let refused = |message: String| section.error_at("of", message);
    let table = of.as_inline_table().ok_or_else(|| {
        refused(format!(
            "`of` is {}; allowed: a table such as {{ factor = [level, level] }}",
            shown(of)
        ))
    })?;
    let one = |(name, value): (&str, &Value)| -> Result<(String, Vec<Label>), StudyError> {
        let factor = known_factor(section, "of", name, factors)?;
        let labels: Option<Vec<Label>> = match value.as_array() {
            Some(list) => list.iter().map(label).collect(),
            None => label(value).map(|label| vec![label]),
        };
        let labels = labels.filter(|labels| !labels.is_empty());
        let labels = labels
            .ok_or_else(|| refused(format!("`{name}` is {}; allowed: levels", shown(value))))?;
        let mut known = labels.iter();
        known.try_for_each(|label| known_level(section, "of", factor, label))?;
        Ok((name.to_owned(), labels))
    };
    table.iter().map(one).collect()
}
