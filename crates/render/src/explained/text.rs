//! The whole explanation as text.

use std::fmt::Write;

use bitcost_analysis::explain::{
    ExplainedCell, ExplainedRun, Explanation, Verdict, Warning, alike,
};

use super::cells::{group_line, group_text};
use super::cost::cost_text;
use super::names::names_in_line;
use crate::layout::folded_text;
use crate::words::around;

/// One line for each cell, or for a group of cells with the same verdict: their names and what
/// limited them.
pub fn explanation_lines(explanation: &Explanation) -> Vec<String> {
    alike(&explanation.cells)
        .iter()
        .map(|group| group_line(group))
        .collect()
}

/// The columns by which a line without a mark is indented where it goes on.
const HANGING: usize = 4;

/// The text of an explanation with its lines broken at `width` columns, for terminals.
pub fn explanation_folded(text: &str, width: u16) -> String {
    folded_text(text, width, HANGING)
}

/// The explanation for people; with `each_run`, it has a line for every run.
pub fn explanation_text(explanation: &Explanation, each_run: bool) -> String {
    let mut text = format!("{}\n", explanation.title);
    for group in alike(&explanation.cells) {
        let _ = write!(text, "\n{}", group_text(&group));
        if each_run {
            group
                .iter()
                .for_each(|cell| text += &run_lines(cell, group.len() > 1));
        }
    }
    for (cells, cost) in &explanation.costs {
        let of = around("", cells, "\n");
        let _ = write!(text, "\n{of}{}", cost_text(cost));
    }
    let remarks = explanation.remarks.iter();
    let rest: String = explanation
        .warnings
        .iter()
        .map(warning_line)
        .chain(remarks.map(|remark| format!("note: {remark}\n")))
        .collect();
    if !rest.is_empty() {
        let _ = write!(text, "\n{rest}");
    }
    text
}

fn warning_line(warning: &Warning) -> String {
    let cells = around("", &names_in_line(&warning.cells), ": ");
    format!("warning: {cells}{}; {}\n", warning.found, warning.remedy)
}

fn run_lines(cell: &ExplainedCell, named: bool) -> String {
    let name = if named { cell.name.as_str() } else { "" };
    let name = around("", name, ": ");
    let runs = cell.runs.iter();
    runs.map(|run| format!("  {name}{}", run_line(run)))
        .collect()
}

fn run_line(run: &ExplainedRun) -> String {
    let part = |verdict: &Verdict| {
        let share = match verdict.share {
            share if share < 0.995 => format!(" {:.0} % of the time", 100.0 * share),
            _ => String::new(),
        };
        let detail = around(" (", &verdict.chosen.detail, ")");
        format!(
            "{}{share}{detail}, {}",
            verdict.limiter(),
            verdict.confidence.words()
        )
    };
    let parts: Vec<String> = run.verdicts.iter().map(part).collect();
    format!("run {}: {}\n", run.figures.run, parts.join("; "))
}
