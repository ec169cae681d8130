//! What must be true of whatever an importer makes of whatever bytes, and of all that is printed of whatever log.

use import::{FORMATS, Found, Head};
use model::event::Event;
use model::study::Study;
use page::{Maker, Source};
use report::frame::{Execution, csv, intervals_table, markdown, runs_table};
use report::{Plots, TextOptions, peers};

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

/// Every form of output: rows that all have every column, and documents that can be read.
pub fn render(execution: &Execution) {
    let summary = &execution.summary;
    for colour in [false, true] {
        let options = TextOptions { colour, width: 80 };
        let _ = report::text(summary, options);
        let _ = report::plots(summary, Plots::All, options);
    }
    let _ = report::json_text(summary);
    let _ = report::markdown_summary(summary);
    let executions = std::slice::from_ref(execution);
    for table in [runs_table(executions), intervals_table(executions)] {
        assert!(table.rows.iter().all(|row| row.len() == table.columns.len()), "{:?}", table.columns);
        let _ = (csv(&table), markdown(&table), table.json());
    }
    execution.each_run(
        |_| true,
        &mut |_, cell, view| {
            let _ = peers::iperf3(view, Some("2026-11-21T10:00:00Z"), "0");
            let _ = (report::single_text(view), report::single_json(view));
            let rows = peers::netperf_table([(cell, *view)]);
            let _ = (csv(&rows), peers::netperf_keyval(&rows));
        },
    );
}

/// The page, in which every script is ended by itself.
pub fn render_page(execution: &Execution) {
    let source = Source { path: "fuzz".to_owned(), bytes: 0, sha256: String::new() };
    let maker = Maker { version: "0".to_owned(), command_line: Vec::new(), at: String::new() };
    let chapters = [(execution.clone(), source.clone()), (execution.clone(), source)];
    let page = page::page(&chapters, 3.0, &maker);
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}
