//! `iperf3 --json-stream`: one event a line, combined into the document that iperf3 would otherwise
//! have written.

use serde_json::{Map, Value};

use super::document;
use crate::Found;
use crate::lenient::documents;

pub(crate) fn is(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or("");
    first.starts_with("{\"event\":")
        && first.contains("\"data\":")
        && !first.contains("execution_began")
}

/// The documents of a text. `--json-stream-full-output` writes the whole document after its events;
/// it then replaces them.
pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (parts, rest) = documents(text);
    let mut all: Vec<Map<String, Value>> = Vec::new();
    let mut is_whole = true;
    for part in parts {
        let Value::Object(mut part) = part else {
            continue;
        };
        let Some(event) = part.get("event").and_then(Value::as_str).map(str::to_owned) else {
            if part.contains_key("end") {
                if !is_whole {
                    all.pop();
                }
                all.push(part);
                is_whole = true;
            }
            continue;
        };
        // The server's output may come before the client's start.
        let is_begun = all
            .last()
            .is_some_and(|present| present.keys().any(|key| !key.starts_with("server_output")));
        if is_whole || event == "start" && is_begun {
            all.push(Map::new());
            is_whole = false;
        }
        if let Some(present) = all.last_mut() {
            add(present, event, part.remove("data").unwrap_or_default());
        }
    }
    if all.is_empty() && rest.is_some() {
        all.push(Map::new());
    }
    let count = all.len();
    let mut found: Vec<Found> = all
        .into_iter()
        .enumerate()
        .map(|(place, value)| document(file, &Value::Object(value), place, count))
        .collect();
    if let (Some(rest), Some(last)) = (rest, found.last_mut()) {
        let note = format!(
            "{file}: line {} is cut or damaged; what is before it was read",
            rest.line
        );
        last.run.notes.push(note);
    }
    Ok(found)
}

fn add(document: &mut Map<String, Value>, event: String, data: Value) {
    if event != "interval" {
        document.insert(event, data);
        return;
    }
    let intervals = document
        .entry("intervals")
        .or_insert_with(|| Value::Array(Vec::new()));
    if let Some(list) = intervals.as_array_mut() {
        list.push(data);
    }
}
