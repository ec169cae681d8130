//! Parts of JSON documents: levels, and objects without absent values.

use bitcost_model::study::Label;
use serde_json::{Value, json};

pub(crate) fn levels_json(levels: &[(String, Label)]) -> Value {
    let levels = levels.iter();
    levels
        .map(|(factor, label)| (factor.clone(), json!(label)))
        .collect()
}

/// The same without keys that have no value.
pub(crate) fn without_null(value: Value) -> Value {
    match value {
        Value::Object(entries) => {
            let known = entries.into_iter().filter(|(_, value)| !value.is_null());
            known
                .map(|(key, value)| (key, without_null(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_null).collect(),
        plain => plain,
    }
}
