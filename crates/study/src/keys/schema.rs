//! The JSON Schema of study files, by which editors complete them (draft 7, which taplo takes). It
//! allows all that a study may say; `bitcost plan` also checks what the schema cannot say.

use serde_json::{Map, Value, json};

use super::form::{by_name, list, one_or_list, scalar, text};
use super::key::{Form, Key, Table};
use super::tables::{PICTURE, STUDY};
use crate::settings::{SETTINGS, Setting};

/// The schema of a study file; `metrics` are the names of all metrics.
pub fn study_schema(metrics: &[&str]) -> Value {
    let mut level = all_settings();
    level.insert("label".to_owned(), scalar());
    level.insert("about".to_owned(), json!({ "type": "string" }));
    let mut schema = table(&STUDY);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    schema["title"] = STUDY.title.into();
    schema["definitions"] = json!({
        "metric": { "enum": metrics },
        "settings": object(all_settings()),
        "level": object(level),
        "picture": { "anyOf": [form(PICTURE.form("kind")), table(&PICTURE)] },
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
fn all_settings() -> Map<String, Value> {
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

/// The schema of a value.
fn form(form: Form) -> Value {
    match form {
        Form::Plain(_, schema) => schema(),
        Form::Topology => text(),
        Form::Number | Form::Share(_) => json!({ "type": "number" }),
        Form::Whole(least, most, words) => {
            let number = json!({ "type": "integer", "minimum": least, "maximum": most });
            match words {
                [] => number,
                words => json!({ "anyOf": [number, { "enum": words }] }),
            }
        }
        Form::Setting(_) => scalar(),
        Form::Words(words) => json!({ "enum": words() }),
        Form::Table(of) => table(of),
        Form::Tables(of) => by_name(table(of)),
        Form::List(of) => list(table(of)),
        Form::OneOrList(of, _) => one_or_list(table(of)),
    }
}
