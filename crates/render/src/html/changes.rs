//! What changed from one execution to another, or between the two settings that a study compares.

use crate::comparison::{
    comparison_lines, comparison_method, comparison_remarks, comparison_tally, comparison_unmatched,
};
use crate::comparison_headline::comparison_headline;
use crate::lines::Lines;
use bitcost_analysis::compare::Comparison;
use bitcost_model::units::counted;

use crate::html::contents;
use crate::html::fold;
use crate::html::pictures;
use crate::html::pictures::Picture;
use crate::html::section;
use crate::html::table::table;
use crate::html::writer::Html;

/// The chapter before those of the executions; `executions` is their number.
pub(crate) fn chapter(
    page: &mut Html,
    comparisons: &[Comparison],
    executions: usize,
    drawn: &mut usize,
) {
    if comparisons.is_empty() {
        return;
    }
    let mut body = Html::default();
    body.raw("<article>\n<header>\n")
        .element("h1", "", "What changed")
        .raw("</header>\n");
    for comparison in comparisons {
        section(&mut body, comparison, drawn);
    }
    body.raw("</article>\n");
    contents::chapter(page, body, executions, Some("What changed"));
}

/// One comparison: the answer in one sentence, and what [`found`] writes.
fn section(page: &mut Html, comparison: &Comparison, drawn: &mut usize) {
    page.raw("<section>\n")
        .element("h2", "", &title(comparison));
    page.element("p", "answer", &comparison_headline(comparison));
    found(page, comparison, drawn);
    page.raw("</section>\n");
}

/// What a study compares itself, as a folded part of its chapter.
pub(crate) fn folded(page: &mut Html, comparison: &Comparison, drawn: &mut usize) {
    fold::open(page, &title(comparison), &comparison_tally(comparison));
    found(page, comparison, drawn);
    fold::close(page);
}

fn title(comparison: &Comparison) -> String {
    let (old, new) = &comparison.names;
    format!("From {old} to {new}")
}

/// The picture of the first metric, and folded every change and the other pictures.
fn found(page: &mut Html, comparison: &Comparison, drawn: &mut usize) {
    let pictures: Vec<Picture> = pictures::of_changes(comparison, *drawn);
    *drawn += pictures.len();
    let (first, others) = pictures.split_at(pictures.len().min(1));
    for picture in first {
        section::figure(page, picture);
    }
    let lines = for_a_page(comparison_lines(comparison));
    let words = format!(
        "{}: {}",
        counted(lines.rows.len(), "figure"),
        comparison_tally(comparison)
    );
    fold::open(page, "Every change", &words);
    page.element("p", "fine", &comparison_method(comparison));
    remarks(page, comparison);
    page.raw("<div class=\"changes\">\n");
    let (old, new) = &comparison.names;
    table(page, "", &format!("Changes from {old} to {new}"), &lines);
    page.raw("</div>\n");
    fold::close(page);
    section::pictures(page, others);
}

/// Moves the last two columns, the change and its verdict, next to the names, where they are
/// visible on a narrow screen too.
fn for_a_page(lines: Lines) -> Lines {
    let order = |row: Vec<String>| -> Vec<String> {
        let (names, last) = (2.min(row.len()), row.len().saturating_sub(2));
        [&row[..names], &row[last..], &row[names..last]].concat()
    };
    let rows = lines.rows.into_iter().map(|(_, row)| order(row));
    Lines::new(order(lines.header), rows)
}

fn remarks(page: &mut Html, comparison: &Comparison) {
    let remarks = [
        comparison_remarks(comparison),
        comparison_unmatched(comparison),
    ]
    .concat();
    if !remarks.is_empty() {
        page.list(remarks);
    }
}
