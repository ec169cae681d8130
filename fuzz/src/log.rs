//! Logs: a log with any content is read or refused, and a log that was read becomes tables or a
//! message that says why it does not.

use std::rc::Rc;
use std::sync::LazyLock;

use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{RunRows, Table, intervals_table};
use bitcost_analysis::log::Reader;
use bitcost_execute::store::LogFile;
use bitcost_render::block::{markdown, text};
use bitcost_render::csv::csv;
use bitcost_render::document::json;
use bitcost_render::export::{Maker, Source};
use bitcost_render::iperf3::iperf3;
use bitcost_render::layout::NARROW;
use bitcost_render::one_run::all_figures;
use bitcost_render::report::report;
use tempfile::TempDir;

/// The folder is in memory if `/dev/shm` exists.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    let made = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    made.expect("a folder for the log")
});

/// Reads the log and prints it in every form.
pub fn log(bytes: &[u8]) {
    std::fs::write(FOLDER.path().join(bitcost_execute::store::LOG_NAME), bytes)
        .expect("is written");
    let log = LogFile::open(FOLDER.path()).expect("is there");
    let mut reader = Reader::default();
    let Ok(end) = log.read(&mut |place, event| reader.take(place, &event)) else {
        return;
    };
    assert_eq!(
        end.incomplete.is_some(),
        !bytes.is_empty() && !bytes.ends_with(b"\n")
    );
    let Ok(execution) = Findings::of("fuzz".to_owned(), Rc::new(log), reader) else {
        return;
    };
    render(&execution);
    // A page decompresses the script that draws its pictures, which takes longer than everything
    // else.
    if bytes.len().is_multiple_of(16) {
        render_page(&execution);
    }
}

/// Every form of output: all rows have every column, and documents can be parsed.
fn render(execution: &Findings) {
    for is_verbose in [false, true] {
        let blocks = report(execution, is_verbose, NARROW);
        let _ = (text(&blocks, NARROW), markdown(&blocks));
    }
    let _ = json(execution).to_string();
    let executions = std::slice::from_ref(execution);
    let rows = RunRows::new(executions);
    let runs = Table {
        rows: rows.iter().collect(),
        columns: rows.columns,
    };
    for table in [runs, intervals_table(executions, false)] {
        assert!(
            table
                .rows
                .iter()
                .all(|row| row.len() == table.columns.len()),
            "{:?}",
            table.columns
        );
        let _ = csv(&table.columns, &table.rows);
    }
    execution.each_run(|_| true, &mut |_, _, view| {
        let _ = iperf3(view, &[], Some("2026-11-21T10:00:00Z"), "0");
        let _ = all_figures(view);
    });
}

/// The page, in which every script element is closed.
fn render_page(execution: &Findings) {
    let source = Source {
        path: "fuzz".to_owned(),
        bytes: 0,
        sha256: String::new(),
    };
    let maker = Maker {
        version: "0".to_owned(),
        command_line: Vec::new(),
        at: String::new(),
    };
    let chapters = [execution.clone(), execution.clone()];
    let page = bitcost_render::html::page(&chapters, &[source.clone(), source], &[], &maker);
    assert_eq!(
        page.matches("<script").count(),
        page.matches("</script>").count()
    );
}
