//! The parts of a JSON Schema that several keys have.

use serde_json::{Value, json};

/// Values by any name.
pub(super) fn by_name(value: Value) -> Value {
    json!({ "type": "object", "additionalProperties": value })
}

pub(super) fn list(items: Value) -> Value {
    json!({ "type": "array", "items": items })
}

/// One of these, or a list of them.
pub(super) fn one_or_list(item: Value) -> Value {
    json!({ "anyOf": [item, list(item.clone())] })
}

pub(super) fn scalar() -> Value {
    json!({ "type": ["string", "number", "boolean"] })
}

fn defined(name: &str) -> Value {
    json!({ "$ref": format!("#/definitions/{name}") })
}

pub(super) fn text() -> Value {
    json!({ "type": "string" })
}

pub(super) fn metric_of_list() -> Value {
    defined("metric")
}

/// What stands next to a reference is not read in this draft.
pub(super) fn metric() -> Value {
    json!({ "allOf": [defined("metric")] })
}

pub(super) fn settings() -> Value {
    json!({ "allOf": [defined("settings")] })
}

pub(super) fn factor_levels() -> Value {
    list(json!({ "anyOf": [scalar(), defined("level")] }))
}

pub(super) fn pictures() -> Value {
    list(defined("picture"))
}
