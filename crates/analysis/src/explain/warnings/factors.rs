//! Warnings about factors: those that changed together, and those without effect.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::found::{Study, Warning};

/// What a cell sets, by name.
type Settings = BTreeMap<String, String>;

/// Settings that follow from others, or that say how long the run is.
const NOT_FACTORS: [&str; 4] = ["duration_ms", "warmup_ms", "host_settings", "background"];

fn settings(study: &Study, cell: usize) -> Settings {
    let conditions = &study.cells[cell].conditions;
    let Ok(Value::Object(fields)) = serde_json::to_value(conditions) else {
        return Settings::new();
    };
    let plain = fields
        .into_iter()
        .filter(|(name, _)| !NOT_FACTORS.contains(&name.as_str()));
    let mut settings: Settings = plain
        .map(|(name, value)| (name, value.to_string()))
        .collect();
    for request in &conditions.host_settings {
        let endpoint = request
            .endpoint
            .map_or("both endpoints", bitcost_model::record::Role::name);
        let subject = request
            .subject
            .as_deref()
            .map_or(String::new(), |subject| format!(" {subject}"));
        // All values that one setting of a host has are joined into one.
        let values: Vec<String> = request
            .values
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        settings.insert(
            format!("{}{subject} ({endpoint})", request.setting),
            values.join(" "),
        );
    }
    settings
}

/// The cells, divided by the values of a setting: two settings with the same division cannot be
/// distinguished.
fn division(all: &[Settings], name: &str) -> Vec<usize> {
    let mut values: Vec<Option<&String>> = Vec::new();
    let place = |settings: &Settings, values: &mut Vec<Option<String>>| {
        let value = settings.get(name).cloned();
        values
            .iter()
            .position(|known| *known == value)
            .unwrap_or_else(|| {
                values.push(value);
                values.len() - 1
            })
    };
    values.clear();
    let mut known = Vec::new();
    all.iter()
        .map(|settings| place(settings, &mut known))
        .collect()
}

/// Settings that change in the same cells.
pub fn together(study: &Study) -> Vec<Warning> {
    let all: Vec<Settings> = (0..study.cells.len())
        .map(|cell| settings(study, cell))
        .collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let mut divisions: BTreeMap<Vec<usize>, Vec<&str>> = BTreeMap::new();
    for name in names {
        let division = division(&all, name);
        if division.iter().any(|place| *place > 0) {
            divisions.entry(division).or_default().push(name);
        }
    }
    let confounded = divisions.into_values().filter(|names| names.len() > 1);
    let warning = |names: Vec<&str>| Warning {
        name: "moved_together",
        weight: 0.3,
        cells: Vec::new(),
        found: format!(
            "{} change in the same cells: their effects cannot be distinguished",
            names.join(", ")
        ),
        remedy: "add cells in which one of them changes alone",
        headline: None,
    };
    confounded.map(warning).collect()
}

/// Offloads that a factor requests and that are active alike at all of its levels.
pub fn without_effect(study: &Study) -> Vec<Warning> {
    let all: Vec<Settings> = (0..study.cells.len())
        .map(|cell| settings(study, cell))
        .collect();
    let is_offload = |name: &&String| name.starts_with("offloads");
    let names: BTreeSet<&String> = all
        .iter()
        .flat_map(BTreeMap::keys)
        .filter(is_offload)
        .collect();
    let varied: Vec<&String> = names
        .into_iter()
        .filter(|name| division(&all, name).iter().any(|place| *place > 0))
        .collect();
    let mut distinct: Vec<&[BTreeMap<String, bool>; 2]> = Vec::new();
    for run in study.runs.iter().flatten() {
        if !distinct.contains(&&run.active) {
            distinct.push(&run.active);
        }
    }
    let names: Vec<&str> = varied.iter().map(|name| name.as_str()).collect();
    if names.is_empty() || distinct.len() != 1 || distinct[0].iter().all(BTreeMap::is_empty) {
        return Vec::new();
    }
    vec![Warning {
        name: "no_effect",
        weight: 0.3,
        cells: Vec::new(),
        found: format!(
            "{} is varied, and every run had the same active bits",
            names.join(", ")
        ),
        remedy: "the levels have the same effect: see what the device can change (bitcost host show)",
        headline: None,
    }]
}
