//! What must be true of whatever an importer makes of whatever bytes.

use import::{FORMATS, Found, Head};
use model::event::Event;
use model::study::Study;

/// Reads a text as each of these kinds of files, whether or not it looks like it.
pub fn read_as(names: &[&str], text: &str) {
    let wanted: Vec<_> = FORMATS.iter().filter(|format| names.contains(&format.name)).collect();
    assert_eq!(wanted.len(), names.len(), "a format that is not there: {names:?}");
    for format in wanted {
        if let Ok(found) = format.read("fuzz", text) {
            make_log(found);
        }
    }
}

/// Runs, where there are any, become a log that can be written and read back, with a study that can be read.
pub fn make_log(found: Vec<Found>) {
    if found.is_empty() {
        return;
    }
    let head = Head { name: "fuzz", version: "0", at: "2026-11-21T10:00:00Z", command_line: Vec::new() };
    let events = import::execution(found, head);
    for event in &events {
        let written = serde_json::to_string(event).expect("is written");
        assert!(!written.contains('\n'), "{written}");
        serde_json::from_str::<Event>(&written).expect("reads back");
        if let Event::ExecutionBegan { study_text, .. } = event {
            Study::parse("fuzz.toml", study_text).unwrap_or_else(|error| panic!("{error}\n{study_text}"));
        }
    }
}
