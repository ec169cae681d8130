//! The JSON Schema of study files, by which editors complete them (draft 7, which taplo takes), made of the
//! [tables](crate::tables) that serde reads. It allows all that a study may say; `bitcost plan` also checks what it cannot
//! say.

use bitcost_model::settings::{SETTINGS, Setting};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::forms::scalar;
use crate::tables::StudyTable;

/// The schema of a study file; `metrics` are the names of all metrics.
pub fn study_schema(metrics: &[&str]) -> Value {
    let mut level = all_settings();
    level.insert("label".to_owned(), scalar());
    level.insert("about".to_owned(), json!({ "type": "string" }));
    let mut schema = schema_of::<StudyTable>();
    schema["definitions"] = json!({
        "metric": { "enum": metrics },
        "settings": object(all_settings()),
        "level": object(level),
    });
    schema
}

/// The schema of one table.
pub fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let generator = settings.into_generator();
    let mut schema = Value::from(generator.into_root_schema_for::<T>());
    without_null(&mut schema);
    schema
}

/// What is optional may be absent, but TOML has no null.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(without_null),
        Value::Object(keys) => {
            if let Some(Value::Array(types)) = keys.get_mut("type") {
                types.retain(|of| *of != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    keys.insert("type".to_owned(), only);
                }
            }
            for of in ["enum", "anyOf"] {
                if let Some(Value::Array(any)) = keys.get_mut(of) {
                    any.retain(|one| !one.is_null() && one.get("type") != Some(&json!("null")));
                }
            }
            keys.values_mut().for_each(without_null);
        }
        _ => {}
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Picture, PictureKind};

    #[test]
    fn every_key_of_a_picture_is_described() {
        let keys = schema_of::<Picture>();
        for kind in PictureKind::ALL {
            for key in kind.keys() {
                assert!(keys["properties"].get(key).is_some(), "{key}");
            }
        }
    }
}
