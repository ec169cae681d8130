//! Summaries and tables in Markdown, for pull requests.

use crate::comparison::comparison_markdown;
use crate::export::{ExportError, Form, Input, RowSupport, each};
use crate::improve::{ladder_lines, ladder_paragraphs, ladder_sentences};
use crate::lines::Lines;
use crate::markdown_table::escape;
use bitcost_analysis::experiment::Ladder;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::Table;
use std::fmt::Write;

use crate::notes::notes;
use crate::several::{evidence, figures_table};
use crate::statements::statement_lines;
use crate::tables::{COLUMNS, MetricTables, tables};
use crate::text::head;

use bitcost_analysis::summary::Summary;

/// `--format md`.
pub(crate) const FORM: Form = Form {
    rows: RowSupport::Optional,
    holds_caveats: true,
    ..Form::new("md", "Markdown, for pull requests", export)
};

fn export(input: &Input) -> Result<String, ExportError> {
    if let Some(rows) = input.rows {
        return Ok(markdown_table(&rows.table(input.executions)));
    }
    let whole = |execution: &Findings| {
        if let Some(single) = execution.single() {
            let mut text = markdown_table(&figures_table(execution, &single));
            let evidence = evidence(&single);
            let caveats = execution.summary.caveats.iter();
            let caveats = caveats.map(|words| format!("caveat: {words}"));
            for line in evidence.lines().map(str::to_owned).chain(caveats) {
                let _ = write!(text, "\n{}\n", escape(line.trim()));
            }
            let ladder = execution.ladder.as_ref().map(markdown_ladder);
            return ladder.unwrap_or_default() + &text;
        }
        let mut all = markdown_summary(&execution.summary);
        if let Some(comparison) = &execution.comparison {
            all += &format!("\n{}", comparison_markdown(comparison));
        }
        all
    };
    Ok(each(input, whole))
}

/// A table, with numbers to the right. Words cannot break out of their place in it.
pub fn markdown_table(table: &Table) -> String {
    Lines::from(table).markdown()
}

/// The tables of [`crate::text::text()`] as Markdown, with their caveats and notes. Words from a
/// study or a host are escaped.
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
            let _ = write!(text, "\n{}", lines.markdown());
        }
    }
    text.push('\n');
    for note in notes(summary) {
        let _ = writeln!(text, "- {}{}", note.mark, escape(&note.words));
    }
    let statements = statement_lines(&summary.checks);
    if !statements.is_empty() {
        text.push_str("\n### Statements of the document, tested on these runs\n\n");
        statements.iter().for_each(|line| {
            let words = format!("{}{}", line.mark, line.words);
            text += &format!("- {}\n", escape(words.trim()));
        });
    }
    text
}

/// The answer of a ladder, its table, and what was not tried.
fn markdown_ladder(ladder: &Ladder) -> String {
    let mut text = format!("{}\n\n", escape(&ladder_sentences(ladder).join(" ")));
    text += &ladder_lines(ladder).markdown();
    for (mark, words) in ladder_paragraphs(ladder) {
        let _ = write!(text, "\n{}\n", escape(&format!("{mark}{words}")));
    }
    text + "\n"
}
