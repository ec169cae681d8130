//! The JSON Schema of study files, by which editors complete them (draft 7, which taplo takes). It
//! allows all that a study may say; `bitcost plan` also checks what the schema cannot say.

use serde_json::{Map, Value, json};

use super::key::{Form, Key, Table};
use super::tables::{PICTURE, STUDY};
use crate::settings::{SETTINGS, Setting};

/// The schema of a study file; `metrics` are the names of all metrics.
pub fn study_schema(metrics: &[&str]) -> Value {
    let mut level = settings();
    level.insert("label".to_owned(), scalar());
    level.insert("about".to_owned(), json!({ "type": "string" }));
    let mut schema = table(&STUDY);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = STUDY.title.into();
    schema["definitions"] = json!({
        "metric": { "enum": metrics },
        "settings": object(settings()),
        "level": object(level),
    });
    schema
}

/// The schema of a table.
fn table(of: &Table) -> Value {
    let property = |key: &Key| {
        let mut schema = form(key.form);
        schema["description"] = key.about.into();
        (key.name.to_owned(), schema)
    };
    let required = of.keys.iter().filter(|key| key.is_required);
    let required: Vec<&str> = required.map(|key| key.name).collect();
    let mut schema = object(of.keys.iter().map(property).collect());
    schema["description"] = of.about.into();
    schema["required"] = required.into();
    schema
}

/// Every setting with what it does; those with a list of words offer these.
fn settings() -> Map<String, Value> {
    let property = |setting: &Setting| {
        let about = format!("{}; allowed: {}", setting.about, setting.kind.allowed());
        let mut schema = json!({ "description": about });
        let words = setting.kind.words();
        if !words.is_empty() {
            schema["anyOf"] = json!([{ "enum": words }, scalar()]);
        }
        (setting.name.to_owned(), schema)
    };
    SETTINGS.iter().map(property).collect()
}

fn object(properties: Map<String, Value>) -> Value {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Values by any name.
fn by_name(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// One of these, or a list of them.
fn one_or_list(item: Value) -> Value {
    json!({ "anyOf": [item, list(item.clone())] })
}

fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn defined(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

/// The schema of a value.
fn form(form: Form) -> Value {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "number" });
    match form {
        Form::Text | Form::Factor | Form::Topology => text,
        Form::Switch => json!({ "type": "boolean" }),
        Form::Number | Form::Share(_) => number,
        Form::Whole(least, most, words) => {
            let number = json!({ "type": "integer", "minimum": least, "maximum": most });
            match words {
                [] => number,
                words => json!({ "anyOf": [number, { "enum": words }] }),
            }
        }
        Form::Setting(_) | Form::Level => scalar(),
        Form::Words(words) => json!({ "enum": words() }),
        // What stands next to a reference is not read in this draft.
        Form::Metric => json!({ "allOf": [defined("metric")] }),
        Form::Metrics => list(defined("metric")),
        Form::MetricOrMetrics => one_or_list(defined("metric")),
        Form::Levels => list(scalar()),
        Form::Cell => by_name(scalar()),
        Form::Cells => by_name(one_or_list(scalar())),
        Form::TwoCells => list(by_name(scalar())),
        Form::TwoNumbers => list(number),
        Form::Names | Form::TwoNames => list(text),
        Form::Quantity(_) | Form::FileOrLines => one_or_list(text),
        Form::FactorLevels => list(json!({ "anyOf": [scalar(), defined("level")] })),
        Form::Pictures => {
            let kind = self::form(PICTURE.form("kind"));
            list(json!({ "anyOf": [kind, table(&PICTURE)] }))
        }
        Form::NamedLists => by_name(list(text)),
        Form::NamedTables => by_name(by_name(text)),
        Form::Settings => json!({ "allOf": [defined("settings")] }),
        Form::Table(of) => table(of),
        Form::Tables(of) => by_name(table(of)),
        Form::List(of) => list(table(of)),
        Form::OneOrList(of, _) => one_or_list(table(of)),
        Form::LevelLists => list(by_name(list(scalar()))),
        Form::FigureLists => list(by_name(scalar())),
    }
}
