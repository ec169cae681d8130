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

/// The settings that vary, each with its cells divided by its values: two settings with the same division cannot be
/// distinguished.
fn divisions(study: &Study) -> BTreeMap<String, Vec<usize>> {
    let cells = 0..study.cells.len();
    let all: Vec<Settings> = cells.map(|cell| settings(study, cell)).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let division = |name: &String| -> Vec<usize> {
        let values = || all.iter().map(|settings| settings.get(name));
        let first = |value| values().position(|known| known == value).unwrap_or(0);
        values().map(first).collect()
    };
    let divisions = names.into_iter().map(|name| (name.clone(), division(name)));
    divisions
        .filter(|(_, division)| division.iter().any(|place| *place > 0))
        .collect()
}

/// Settings that change in the same cells.
pub fn together(study: &Study) -> Vec<Warning> {
    let mut alike: BTreeMap<Vec<usize>, Vec<String>> = BTreeMap::new();
    for (name, division) in divisions(study) {
        alike.entry(division).or_default().push(name);
    }
    let confounded = alike.into_values().filter(|names| names.len() > 1);
    let warning = |names: Vec<String>| Warning {
        name: "moved_together",
        weight: 0.3,
        found: format!(
            "{} change in the same cells: their effects cannot be distinguished",
            names.join(", ")
        ),
        remedy: "add cells in which one of them changes alone",
        ..Warning::default()
    };
    confounded.map(warning).collect()
}

/// Offloads that a factor requests and that are active alike at all of its levels.
pub fn without_effect(study: &Study) -> Vec<Warning> {
    let varied = divisions(study).into_keys();
    let names: Vec<String> = varied.filter(|name| name.starts_with("offloads")).collect();
    let mut active = study.runs.iter().flatten().map(|run| &run.active);
    let first = active.next();
    let is_known = first.is_some_and(|bits| !bits.iter().all(BTreeMap::is_empty));
    if names.is_empty() || !is_known || !active.all(|bits| Some(bits) == first) {
        return Vec::new();
    }
    vec![Warning {
        name: "no_effect",
        weight: 0.3,
        found: format!(
            "{} is varied, and every run had the same features active",
            names.join(", ")
        ),
        remedy: "the levels have the same effect: see what the device can change (bitcost host show)",
        ..Warning::default()
    }]
}
