//! A history as text and as Markdown: the series first, the answer last; in Markdown the answer first.

use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::history::History;
use bitcost_model::units::counted;

use super::table::lines;
use super::words::{Said, answer, method, remarks, when};
use crate::layout::paragraph;
use crate::markdown_table::{escape, markdown_table};
use crate::titles::title;

/// The history for people, at most `width` columns wide: a table of each metric's series, what limits them, and last what
/// changed.
pub fn history_text(history: &History, width: u16) -> String {
    let columns = usize::from(width);
    let mut text = paragraph("", &head(history), columns) + "\n";
    for (_, lines) in lines(history) {
        text += &(lines.text(width) + "\n");
    }
    let remarks: String = remarks(history)
        .iter()
        .map(|words| paragraph("- ", words, columns))
        .collect();
    if !remarks.is_empty() {
        text += &(remarks + "\n");
    }
    text += &(paragraph("", &method(history), columns) + "\n");
    for said in answer(history) {
        text += &paragraph("", &said.head, columns);
        said.series
            .iter()
            .for_each(|words| text += &paragraph("- ", words, columns));
    }
    text
}

/// The history in Markdown, as for a pull request: what changed, each metric's series, and what limits them.
pub fn history_markdown(history: &History) -> String {
    let list = |all: Vec<String>| {
        all.iter()
            .map(|words| format!("- {}\n", escape(words)))
            .collect::<String>()
    };
    let mut text = format!("{}\n\n{}\n", escape(&head(history)), answers(history));
    for (metric, lines) in lines(history) {
        let mut table = Table::new(lines.header.iter().map(String::as_str));
        let rows = lines.rows.into_iter();
        table
            .rows
            .extend(rows.map(|(_, row)| row.into_iter().map(Value::Text).collect::<Vec<_>>()));
        text += &format!(
            "{}\n\n{}\n",
            escape(&title(metric.name)),
            markdown_table(&table)
        );
    }
    let remarks = list(remarks(history));
    if !remarks.is_empty() {
        text += &(remarks + "\n");
    }
    text + &escape(&method(history)) + "\n"
}

/// What changed as a list, with the series of a point below it.
fn answers(history: &History) -> String {
    let of_point = |said: Said| {
        let series = said
            .series
            .iter()
            .map(|words| format!("  - {}\n", escape(words)));
        format!("- {}\n{}", escape(&said.head), series.collect::<String>())
    };
    answer(history).into_iter().map(of_point).collect()
}

/// `8 executions, the first on 3 October (NAME), the last on 5 October (NAME)`.
fn head(history: &History) -> String {
    let last = history.executions.len() - 1;
    let named = |number: usize| {
        format!(
            "{} ({})",
            when(history, number),
            history.executions[number].name
        )
    };
    format!(
        "{}, the first {}, the last {}",
        counted(last + 1, "execution"),
        named(0),
        named(last)
    )
}
