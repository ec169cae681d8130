//! What limited a cell, or a group of cells with the same verdict.

use bitcost_analysis::explain::{ExplainedCell, Limiter};
use bitcost_model::units::counted;

use super::names::names_in_line;
use super::proof::lines;
use super::verdict::{sure, verdicts_text};

/// One line: the cells of a group and what limited them.
pub(super) fn group_line(group: &[&ExplainedCell]) -> String {
    let (first, verdict) = match group {
        [] => return String::new(),
        [cell] => return cell_line(cell),
        [first, ..] => (first, first.verdict()),
    };
    let Some(verdict) = verdict else {
        return cell_line(first);
    };
    let names: Vec<&str> = group.iter().map(|cell| cell.name.as_str()).collect();
    let count = group.iter().map(|cell| cell.runs.len()).sum();
    format!(
        "{}: {} (all {}{})",
        names_in_line(&names),
        verdict.limiter(),
        counted(count, "run"),
        sure(&verdict)
    )
}

fn cell_line(cell: &ExplainedCell) -> String {
    let Some(verdict) = cell.verdict() else {
        return format!("{}: no run that can be explained", cell.name);
    };
    let (count, shares) = (cell.runs.len(), cell.shares());
    let runs = counted(count, "run");
    let said = if shares.len() == 1 {
        let sure = sure(&verdict);
        format!("{} ({runs} of {count}{sure})", verdict.limiter())
    } else {
        let whole = cell.runs.iter().all(|run| run.verdicts.len() == 1);
        let part = |(limiter, share): &(Limiter, f64)| match whole {
            true => format!("{limiter} in {:.0} of {runs}", share * count as f64),
            false => format!("{limiter} {:.0} % of the time", 100.0 * share),
        };
        shares.iter().map(part).collect::<Vec<_>>().join("; ")
    };
    format!("{}: {said}", cell.name)
}

/// Several lines: what limited a cell, with evidence, runner-up and remedy.
pub fn cell_text(cell: &ExplainedCell) -> String {
    group_text(&[cell])
}

pub(super) fn group_text(group: &[&ExplainedCell]) -> String {
    let mut text = format!("{}\n", group_line(group));
    if let [cell] = group
        && cell.leading().len() > 1
    {
        text.extend(cell.limiter_words().map(|words| format!("  {words}\n")));
    }
    let verdicts: Vec<_> = group.iter().filter_map(|cell| cell.verdict()).collect();
    text += &verdicts_text(&verdicts);
    for cell in group {
        let proof = cell.proof.iter().flat_map(lines);
        text.extend(proof.map(|line| format!("  {line}\n")));
    }
    text
}
