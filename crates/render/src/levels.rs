//! Levels as JSON.

use bitcost_model::study::Label;
use serde_json::{Value, json};

/// Levels by their factors.
pub(crate) fn levels_json(levels: &[(String, Label)]) -> Value {
    Value::Object(
        levels
            .iter()
            .map(|(factor, label)| (factor.clone(), json!(label)))
            .collect(),
    )
}
