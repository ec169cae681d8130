//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events.

mod end;
mod intervals;
mod per_stream;
mod start;
mod stream;

use serde_json::Value;

use crate::Found;
use crate::lenient::documents;

pub(crate) use stream::{is as is_stream, read as read_stream};

pub(crate) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"start\"") && text.contains("\"end\"")
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (documents, rest) = documents(text);
    if documents.is_empty() {
        return Err(format!(
            "its JSON cannot be read: {}",
            rest.map(|rest| rest.why).unwrap_or_default()
        ));
    }
    let count = documents.len();
    let mut found: Vec<Found> = documents
        .iter()
        .enumerate()
        .map(|(place, doc)| document(file, doc, place, count))
        .collect();
    if let (Some(rest), Some(last)) = (rest, found.last_mut()) {
        last.run.notes.push(format!(
            "{file}: what follows document {count} could not be read: {}",
            rest.why
        ));
    }
    Ok(found)
}

fn document(file: &str, document: &Value, place: usize, count: usize) -> Found {
    let mut found = Found::of("iperf3", file);
    found.run.place = (count > 1).then(|| format!("document {}", place + 1));
    start::take(&mut found, document);
    end::take(&mut found, document);
    intervals::take(&mut found, &document["intervals"]);
    found.error = document["error"].as_str().map(str::to_owned).or_else(|| {
        let silent = found.run.figures.is_empty();
        silent.then(|| {
            "the document has no result (its `end` is empty): the test did not finish".to_owned()
        })
    });
    found
}
