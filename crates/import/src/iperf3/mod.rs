//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events, one a line.

mod json;
mod run;

use serde_json::{Map, Value};

use self::json::documents;
use crate::Found;

pub(crate) fn is(text: &str) -> bool {
    let text = text.trim_start();
    let first = text.lines().next().unwrap_or("");
    let is_stream = first.starts_with("{\"event\":") && first.contains("\"data\":");
    let has_both = text.contains("\"start\"") && text.contains("\"end\"");
    text.starts_with('{') && (has_both || is_stream) && !first.contains("execution_began")
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (parts, rest) = documents(text);
    let all = combined(parts);
    if all.is_empty() {
        let why = rest.map_or_else(|| "it has no object".to_owned(), |(_, why)| why);
        return Err(format!("its JSON cannot be read: {why}"));
    }
    let count = all.len();
    let mut found: Vec<Found> = Vec::new();
    for (number, document) in (1..).zip(all) {
        let mut one = run::found(file, &Value::Object(document));
        one.run.place = (count > 1).then(|| format!("document {number}"));
        found.push(one);
    }
    if let (Some((line, why)), Some(last)) = (rest, found.last_mut()) {
        last.run.notes.push(format!(
            "{file}: line {line} is cut or damaged; what is before it was read: {why}"
        ));
    }
    Ok(found)
}

/// The documents, with the events of each stream (`--json-stream`) combined into the one that iperf3
/// would otherwise have written. `--json-stream-full-output` writes the whole document after its
/// events; it then replaces them.
fn combined(parts: Vec<Value>) -> Vec<Map<String, Value>> {
    let mut all: Vec<Map<String, Value>> = Vec::new();
    let mut is_whole = true;
    for part in parts {
        let Value::Object(mut part) = part else {
            continue;
        };
        let Some(event) = part.get("event").and_then(Value::as_str).map(str::to_owned) else {
            if !is_whole {
                all.pop();
            }
            all.push(part);
            is_whole = true;
            continue;
        };
        // The server's output may come before the client's start.
        let mut present = all.last().into_iter().flat_map(Map::keys);
        let is_begun = present.any(|key| !key.starts_with("server_output"));
        if is_whole || event == "start" && is_begun {
            all.push(Map::new());
            is_whole = false;
        }
        let data = part.remove("data").unwrap_or_default();
        let Some(present) = all.last_mut() else {
            continue;
        };
        if event != "interval" {
            present.insert(event, data);
        } else if let Value::Array(list) = present
            .entry("intervals")
            .or_insert_with(|| Value::Array(Vec::new()))
        {
            list.push(data);
        }
    }
    all
}
