//! The JSON Schema (draft 7, which taplo and editors take) of study files and lab files.

use bitcost_model::conditions::bounds::{Bounds, Unit};
use bitcost_model::workload::WORKLOADS;
use serde_json::{Map, Value, json};

use super::key::{Form, Key, Table};
use super::tables::{LAB_FILE, PICTURE, STUDY};
use crate::settings::{Kind, SETTINGS, Setting};
use crate::topology::PRESETS;

/// The dialect of the schemas.
const DIALECT: &str = "http://json-schema.org/draft-07/schema#";

/// A text that begins with a number, which may have a unit.
const NUMBER: &str = r"^\s*[0-9.]";

/// A text that is more than a number.
const WITH_UNIT: &str = "[^0-9. ]";

/// The path of a lab file.
const PATH: &str = r"/|\.toml$|\.mn$";

/// The schema of a study file; `metrics` are the names of all metrics.
pub fn study_schema(metrics: &[&str]) -> Value {
    whole(&STUDY, metrics)
}

/// The schema of a lab file.
pub fn lab_schema() -> Value {
    whole(&LAB_FILE, &[])
}

fn whole(of: &Table, metrics: &[&str]) -> Value {
    let mut schema = table(of);
    schema["$schema"] = DIALECT.into();
    schema["title"] = of.title.into();
    schema["description"] = of.about.into();
    let mut definitions = Map::new();
    if !metrics.is_empty() {
        definitions = SETTINGS
            .iter()
            .map(|setting| (setting.name.to_owned(), of_setting(setting)))
            .collect();
        let figures: Map<String, Value> = metrics
            .iter()
            .map(|name| ((*name).to_owned(), json!({ "type": "number" })))
            .collect();
        definitions.insert("metric".into(), json!({ "enum": metrics }));
        definitions.insert(
            "figures".into(),
            json!({ "type": "object", "properties": figures, "additionalProperties": level() }),
        );
        definitions.insert("level".into(), level_table());
    }
    definitions.insert("picture".into(), table(&PICTURE));
    schema["definitions"] = definitions.into();
    schema
}

/// The schema of a table.
fn table(of: &Table) -> Value {
    let property = |key: &Key| {
        let mut schema = form(key.form);
        schema["description"] = key.about.into();
        (key.name.to_owned(), schema)
    };
    let properties: Map<String, Value> = of.keys.iter().map(property).collect();
    let required = of.keys.iter().filter(|key| key.is_required);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let mut schema = object(properties);
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if of
        .keys
        .iter()
        .any(|key| matches!(key.form, Form::FactorLevels))
    {
        schema["allOf"] = levels_by_name().into();
    }
    schema
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Tables or values by any name.
fn by_name(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

fn several(items: Value) -> Value {
    json!({ "type": "array", "items": items, "minItems": 1 })
}

fn two(items: Value) -> Value {
    json!({ "type": "array", "items": items, "minItems": 2, "maxItems": 2 })
}

fn level() -> Value {
    json!({ "type": ["integer", "string", "boolean"] })
}

fn defined(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

/// The schema of a value.
fn form(form: Form) -> Value {
    let text = || json!({ "type": "string" });
    match form {
        Form::Text | Form::Factor => text(),
        Form::Switch => json!({ "type": "boolean" }),
        Form::Number => json!({ "type": "number" }),
        Form::Share(most) if most.is_finite() => {
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": most })
        }
        Form::Share(_) => json!({ "type": "number", "exclusiveMinimum": 0 }),
        Form::Whole(least, most, words) => {
            let number = json!({ "type": "integer", "minimum": least, "maximum": most });
            match words {
                [] => number,
                words => json!({ "anyOf": [number, { "enum": words }] }),
            }
        }
        Form::Quantity(_) => json!({ "type": "string", "pattern": WITH_UNIT }),
        Form::Setting(name) => json!({ "allOf": [defined(name)] }),
        Form::Words(words) => json!({ "enum": words() }),
        Form::Topology => {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            json!({ "anyOf": [{ "enum": names }, { "type": "string", "pattern": PATH }] })
        }
        Form::Metric => json!({ "allOf": [defined("metric")] }),
        Form::Metrics => list(defined("metric")),
        Form::MetricOrMetrics => {
            json!({ "anyOf": [defined("metric"), several(defined("metric"))] })
        }
        Form::Level => level(),
        Form::Levels => list(level()),
        Form::Cell => by_name(level()),
        Form::Cells => by_name(json!({ "anyOf": [level(), several(level())] })),
        Form::TwoCells => two(by_name(level())),
        Form::TwoNumbers => two(json!({ "type": "number" })),
        Form::Names => list(text()),
        Form::TwoNames => two(text()),
        Form::FactorLevels => several(json!({ "anyOf": [level(), defined("level")] })),
        Form::Pictures => list(json!({ "anyOf": [form_of_kind(), defined("picture")] })),
        Form::FigureLists => list(defined("figures")),
        Form::NamedLists => by_name(list(text())),
        Form::NamedTables => by_name(by_name(text())),
        Form::Settings => object(all_settings(|_| true)),
        Form::Table(of) => table(of),
        Form::Tables(of) => by_name(table(of)),
        Form::List(of) => list(table(of)),
        Form::OneOrList(of, most) => {
            let mut all = several(table(of));
            all["maxItems"] = most.into();
            json!({ "anyOf": [table(of), all] })
        }
        Form::LevelLists => {
            let mut levels = by_name(list(level()));
            levels["minProperties"] = 2.into();
            list(levels)
        }
    }
}

/// The kinds of pictures, as `kind` of a picture has them.
fn form_of_kind() -> Value {
    let kind = PICTURE.keys.iter().find(|key| key.name == "kind");
    kind.map_or(Value::Null, |key| form(key.form))
}

/// The settings that are wanted, by name.
fn all_settings(is_wanted: impl Fn(&Setting) -> bool) -> Map<String, Value> {
    let wanted = SETTINGS.iter().filter(|setting| is_wanted(setting));
    wanted
        .map(|setting| (setting.name.to_owned(), defined(setting.name)))
        .collect()
}

/// A level as a table.
fn level_table() -> Value {
    let mut properties = all_settings(|_| true);
    properties.insert("label".into(), level());
    properties.insert("about".into(), json!({ "type": "string", "minLength": 1 }));
    let mut schema = object(properties);
    schema["required"] = json!(["label"]);
    schema
}

/// Where a factor is named like a setting, plain levels are values of it; elsewhere all levels are
/// tables.
fn levels_by_name() -> Vec<Value> {
    let rule = |name: Value, items: Value| {
        json!({
            "if": { "properties": { "name": name }, "required": ["name"] },
            "then": { "properties": { "levels": { "items": items } } },
        })
    };
    let of_setting = |setting: &Setting| {
        rule(
            json!({ "const": setting.name }),
            json!({ "anyOf": [defined(setting.name), defined("level")] }),
        )
    };
    let names: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    let others = rule(json!({ "not": { "enum": names } }), defined("level"));
    let rules = SETTINGS.iter().map(of_setting);
    rules.chain([others]).collect()
}

/// The values of a setting.
fn of_setting(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        Kind::Number(bounds, choices, _) => {
            let mut forms = vec![
                number(bounds),
                json!({ "type": "string", "pattern": NUMBER }),
            ];
            if !choices.is_empty() {
                forms.push(json!({ "enum": setting.kind.words() }));
            }
            json!({ "anyOf": forms })
        }
        Kind::Word(_) | Kind::Named(..) => json!({ "enum": words(setting) }),
        Kind::Text(_) | Kind::Host(_) => json!({ "type": ["string", "integer"] }),
        Kind::Switch(_) => json!({ "type": "boolean" }),
        Kind::Background => {
            let mut part = object(all_settings(|setting| !setting.of_run));
            part["required"] = json!(["workload"]);
            list(part)
        }
    };
    schema["description"] = setting.about.into();
    schema
}

/// A number within bounds; a time is in seconds.
fn number(bounds: &Bounds) -> Value {
    let (kind, scale) = match bounds.unit {
        Unit::Milliseconds => ("number", 1000.0),
        _ => ("integer", 1.0),
    };
    let bound = |bound: u64| match scale {
        1.0 => json!(bound),
        scale => json!(bound as f64 / scale),
    };
    json!({ "type": kind, "minimum": bound(bounds.least), "maximum": bound(bounds.most) })
}

/// The words of a setting as people may write them: a number without quotes, and a workload by each
/// of its names.
fn words(setting: &Setting) -> Vec<Value> {
    let mut words: Vec<Value> = Vec::new();
    for word in setting.kind.words() {
        words.push(word.into());
        words.extend(word.parse::<u64>().map(Value::from));
    }
    if setting.name == "workload" {
        for row in WORKLOADS {
            for name in [row.short_name, row.netperf_name] {
                words.push(name.into());
                words.push(name.to_uppercase().into());
                words.push(name.to_lowercase().into());
            }
            words.push(row.name.to_uppercase().into());
        }
    }
    let mut seen: Vec<Value> = Vec::new();
    words.retain(|word| {
        let is_new = !seen.contains(word);
        seen.push(word.clone());
        is_new
    });
    words
}
