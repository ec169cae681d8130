//! Files of other programs: everything that is read of them becomes a log that can be read back.

use bitcost_import::{FORMATS, Head, Run};
use bitcost_model::event::Event;
use bitcost_study::Study;

use super::text;

/// Any text, read as JSON of iperf3 and of flent.
pub fn iperf3(bytes: &[u8]) {
    read_as(&["iperf3 (JSON)", "flent"], text(bytes));
}

/// Any text, read as an output of netperf (for people, keys and values, CSV), and as what iperf,
/// nuttcp and nttcp print for people.
pub fn netperf(bytes: &[u8]) {
    let texts = "iperf3, iperf 2, nuttcp and nttcp (text)";
    read_as(&["netperf", texts], text(bytes));
}

/// Any bytes of a file that is to be imported: the format is found by the content.
pub fn whatever(bytes: &[u8]) {
    if let Ok(found) = bitcost_import::read("fuzz", bytes) {
        assert!(!found.is_empty());
        make_log(found);
    }
}

/// Reads a text as each of these kinds of files, whether or not it looks like it.
fn read_as(names: &[&str], text: &str) {
    let wanted: Vec<_> = FORMATS
        .iter()
        .filter(|format| names.contains(&format.0))
        .collect();
    assert_eq!(
        wanted.len(),
        names.len(),
        "a format that is not there: {names:?}"
    );
    for format in wanted {
        if let Ok(found) = format.read("fuzz", text) {
            make_log(found);
        }
    }
}

/// Runs, if there are any, become a log that can be written and read back, with a study that can be
/// read.
fn make_log(found: Vec<Run>) {
    if found.is_empty() {
        return;
    }
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
