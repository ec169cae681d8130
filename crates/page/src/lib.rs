//! From executions to one HTML file that needs nothing beside itself: the answer, tables, pictures, and how it was measured.

mod answer;
mod changes;
mod contents;
mod course;
mod explained;
mod hosts;
mod html;
mod pictures;
mod runs;
mod script;
mod section;
mod spreads;
mod statements;

use report::compare::of_study;
use report::frame::{Execution, RunRows, Table, csv_of};

pub use explained::explanation;
use html::Html;

/// Where a log lies and what its bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The log's path.
    pub path: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// SHA-256 of it, in hexadecimal.
    pub sha256: String,
}

/// What made the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Maker {
    /// Version of bitcost.
    pub version: String,
    /// Its command line.
    pub command_line: Vec<String>,
    /// Local time with offset (RFC 3339).
    pub at: String,
}

/// The page's text of pictures' limits.
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// No address may be loaded from, whatever the page holds.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:";

/// The page. Every execution has a chapter of its own, with where its log came from; of several, the first is compared with each
/// other one before. From `threshold_pct` per cent on a change is better or worse.
pub fn page(executions: &[(Execution, Source)], threshold_pct: f64, maker: &Maker) -> String {
    let mut page = Html::default();
    let title = match executions {
        [(one, _)] => one.summary.study.title.clone(),
        several => format!("{} executions", several.len()),
    };
    head(&mut page, &title);
    let mut drawn = 0;
    let compared: Vec<&Execution> = executions.iter().map(|(execution, _)| execution).collect();
    changes::chapter(&mut page, &changes::between(&compared, threshold_pct), executions.len(), &mut drawn);
    for (number, (execution, source)) in executions.iter().enumerate() {
        let mut body = Html::default();
        chapter(&mut body, execution, source, threshold_pct, number, &mut drawn);
        let name = (executions.len() > 1).then_some(execution.name.as_str());
        contents::chapter(&mut page, body, number, name);
    }
    foot(&mut page, maker);
    page.raw("</main>\n");
    if drawn > 0 {
        page.raw("<script>").raw(&script::plotly()).raw("</script>\n");
    }
    page.raw("<script>").raw(SCRIPT).raw("</script>\n</body>\n</html>\n");
    page.finish()
}

fn head(page: &mut Html, title: &str) {
    page.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.raw("<meta http-equiv=\"Content-Security-Policy\" content=\"").raw(POLICY).raw("\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    page.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n");
    page.raw("<title>").text(title).raw("</title>\n<style>").raw(STYLE).raw("</style>\n</head>\n<body>\n");
    page.raw("<main id=\"top\">\n");
}

/// The chapter of an execution, by its place among them; `drawn` counts the pictures of the page.
fn chapter(
    page: &mut Html,
    execution: &Execution,
    source: &Source,
    threshold_pct: f64,
    number: usize,
    drawn: &mut usize,
) {
    let study = &execution.summary.study;
    page.raw("<article>\n<header>\n").element("p", "kicker", &study.name).element("h1", "", &study.title);
    page.element("p", "question", &study.question).raw("</header>\n");
    section::answer(page, execution);
    course::why(page, &execution.summary);
    let used = execution.summary.cells.iter().any(|cell| cell.runs > 0);
    if used {
        section::tables(page, execution);
    }
    if let Some(comparison) = of_study(execution, threshold_pct) {
        changes::section(page, &comparison, drawn);
    }
    course::seconds(page, &execution.summary);
    statements::section(page, execution);
    statements::figures(page, &execution.summary);
    let explanation = explained::explanation(execution);
    let pictures = pictures::all(execution, &explanation, *drawn);
    *drawn += pictures.len();
    if used {
        explained::section(page, &explanation);
    }
    section::pictures(page, &pictures);
    section::remarks(page, execution);
    hosts::section(page, execution);
    runs::section(page, execution, number);
    section::source(page, execution, source);
    page.raw("</article>\n");
}

fn foot(page: &mut Html, maker: &Maker) {
    let command = maker.command_line.join(" ");
    page.raw("<footer>\n").element("p", "", &format!("Made by bitcost {} at {}.", maker.version, maker.at));
    page.raw("<p>Command: <code>").text(&command).raw("</code></p>\n</footer>\n");
}

/// Rows of a table that a page holds at most; of more, every n-th is taken.
const ROWS: usize = 2000;

/// At most [`ROWS`] of the rows, evenly chosen, and of how many where some were left out.
fn sampled(mut table: Table) -> (Table, Option<usize>) {
    let all = table.rows.len();
    if all <= ROWS {
        return (table, None);
    }
    let chosen: Vec<usize> = evenly(all, ROWS).collect();
    let mut place = 0;
    let mut next = chosen.iter().peekable();
    table.rows.retain(|_| {
        let keep = next.next_if(|index| **index == place).is_some();
        place += 1;
        keep
    });
    (table, Some(all))
}

/// At most `most` places below `count`, evenly chosen, the first and the last among them.
fn evenly(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |place| if taken < 2 { 0 } else { place * (count - 1) / (taken - 1) })
}

/// The rows of an execution's runs as a file, and how many there are where some were left out.
fn runs_csv(execution: &Execution) -> (String, Option<usize>) {
    let rows = RunRows::new(std::slice::from_ref(execution));
    let all = execution.summary.runs.len();
    let mut chosen = evenly(all, ROWS).peekable();
    let rows_chosen = rows.iter().enumerate().filter(|(place, _)| chosen.next_if_eq(place).is_some());
    (csv_of(&rows.columns, rows_chosen.map(|(_, row)| row)), (all > ROWS).then_some(all))
}
