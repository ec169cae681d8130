//! A summary in Markdown, for pull requests.

use std::fmt::Write;

use crate::frame::escape_markdown as escape;
use crate::grid::{COLUMNS, Lines, MetricTables, tables};
use crate::notes::{notes, statements};
use crate::summary::Summary;
use crate::text::head;

/// The tables of [`crate::text()`] as Markdown, with what must be known to read them. Words from a study or a host mean themselves.
pub fn markdown_summary(summary: &Summary) -> String {
    let study = &summary.study;
    let mut text = format!("## {}: {}\n", escape(&study.name), escape(&study.title));
    for line in head(summary) {
        let _ = write!(text, "\n{}\n", escape(&line));
    }
    for MetricTables { title, tables, .. } in tables(summary, COLUMNS) {
        let _ = write!(text, "\n### {}\n", escape(&title));
        for (place, lines) in tables {
            if let Some(place) = place {
                let _ = write!(text, "\n{}\n", escape(&place));
            }
            text.push('\n');
            table(&mut text, &lines);
        }
    }
    text.push('\n');
    for note in notes(summary) {
        let mark = note.mark.trim_start_matches("- ");
        let _ = writeln!(text, "- {mark}{}", escape(&note.words));
    }
    let statements = statements(summary);
    if !statements.is_empty() {
        text.push_str("\n### What the document states, on these runs\n\n");
        statements.iter().for_each(|line| text += &format!("- {}\n", escape(line.trim())));
    }
    text
}

fn table(text: &mut String, lines: &Lines) {
    let mut line = |words: &[String]| {
        let _ = writeln!(text, "| {} |", words.join(" | "));
    };
    line(&lines.header.iter().map(|words| escape(words)).collect::<Vec<_>>());
    let right = |column: usize| if column == 0 { "---" } else { "--:" }.to_owned();
    line(&(0..lines.header.len()).map(right).collect::<Vec<_>>());
    for (_, row) in &lines.rows {
        line(&row.iter().map(|words| escape(words.trim())).collect::<Vec<_>>());
    }
}
