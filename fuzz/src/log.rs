//! Logs: whatever bytes one has, it is read or refused, and what was read becomes tables or a sentence that says why not.

use std::sync::LazyLock;

use model::event::Events;
use page::{Maker, Source};
use report::frame::{Execution, csv, intervals_table, markdown, runs_table};
use report::{Plots, Reader, TextOptions, peers};
use store::{Damaged, LogFile};
use tempfile::TempDir;

/// In memory where there is such a place.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("a folder for the log")
});

/// Reads the log and prints it in every form.
pub fn log(bytes: &[u8]) {
    std::fs::write(FOLDER.path().join(store::LOG_NAME), bytes).expect("is written");
    let mut log = LogFile::open(FOLDER.path(), Damaged::LeaveOut).expect("is there");
    let mut reader = Reader::default();
    let Ok(end) = log.read(&mut |place, event| reader.take(place, &event)) else { return };
    assert_eq!(end.incomplete.is_some(), !bytes.is_empty() && !bytes.ends_with(b"\n"));
    let Ok(summary) = reader.summary() else { return };
    let execution = Execution { name: "fuzz".to_owned(), events: Events::Stored(&log), summary };
    render(&execution);
    // A page unpacks the script that draws its pictures, which takes longer than all else.
    if bytes.len().is_multiple_of(16) {
        render_page(&execution);
    }
}

/// Every form of output: rows that all have every column, and documents that can be read.
fn render(execution: &Execution) {
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
    execution.each_run(|_| true, &mut |_, cell, view| {
        let _ = peers::iperf3(view, Some("2026-11-21T10:00:00Z"), "0");
        let _ = (report::single_text(view), report::single_json(view));
        let rows = peers::netperf_table([(cell, *view)]);
        let _ = (csv(&rows), peers::netperf_keyval(&rows));
    });
}

/// The page, in which every script is ended by itself.
fn render_page(execution: &Execution) {
    let source = Source { path: "fuzz".to_owned(), bytes: 0, sha256: String::new() };
    let maker = Maker { version: "0".to_owned(), command_line: Vec::new(), at: String::new() };
    let chapters = [(execution.clone(), source.clone()), (execution.clone(), source)];
    let page = page::page(&chapters, 3.0, &maker);
    assert_eq!(page.matches("<script").count(), page.matches("</script>").count());
}
