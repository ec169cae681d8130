//! Files of other programs: everything that is read of them becomes a log that can be read back.

use bitcost_import::{Head, Run};
use bitcost_model::event::Event;
use bitcost_study::Study;

/// Any bytes of a file that is to be imported: the format is found by the content.
pub fn whatever(bytes: &[u8]) {
    if let Ok(found) = bitcost_import::read("fuzz", bytes) {
        assert!(!found.is_empty());
        make_log(found);
    }
}

/// Runs become a log that can be written and read back, with a study that can be read.
fn make_log(found: Vec<Run>) {
    let head = Head {
        name: "fuzz",
        version: "0",
        at: "2026-11-21T10:00:00Z",
        command_line: Vec::new(),
    };
    let events = bitcost_import::execution(found, head);
    for event in &events {
        let written = serde_json::to_string(event).expect("is written");
        assert!(!written.contains('\n'), "{written}");
        serde_json::from_str::<Event>(&written).expect("reads back");
        if let Event::ExecutionBegan { study_text, .. } = event {
            Study::parse("fuzz.toml", study_text)
                .unwrap_or_else(|error| panic!("{error}\n{study_text}"));
        }
    }
}
