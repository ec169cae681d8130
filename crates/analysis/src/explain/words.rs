//! Verdicts and their evidence in words.

use std::fmt::Write;

use bitcost_model::units::counted;

use super::cells::ExplainedCell;
use super::limiter::{Bound, Candidate, Evidence, Limiter, Verdict};

/// The evidence of a runner-up may be this far on the wrong side of a bound, as a share of it, to
/// be reported.
const NEAR: f64 = -0.5;

/// One line: the cell and what limited it.
pub(super) fn cell_line(cell: &ExplainedCell) -> String {
    let Some(verdict) = cell.verdict() else {
        return format!("{}: no run that can be explained", cell.name);
    };
    let count = cell.runs.len();
    let shares = cell.shares();
    let confidence = verdict.confidence.name();
    let said = if shares.len() == 1 {
        let unknown = verdict.limiter().is_unknown();
        let sure = if unknown {
            String::new()
        } else {
            format!(", {confidence} confidence")
        };
        format!(
            "{} ({} of {count}{sure})",
            verdict.limiter(),
            counted(count, "run")
        )
    } else {
        let whole = cell.runs.iter().all(|run| run.verdicts.len() == 1);
        let part = |(limiter, share): &(Limiter, f64)| match whole {
            true => format!(
                "{limiter} in {:.0} of {}",
                share * count as f64,
                counted(count, "run")
            ),
            false => format!("{limiter} {:.0} % of the time", 100.0 * share),
        };
        shares.iter().map(part).collect::<Vec<_>>().join("; ")
    };
    format!("{}: {said}", cell.name)
}

/// What limited a cell, with the evidence, the runner-up and the remedy: several lines.
pub fn cell_words(cell: &ExplainedCell) -> String {
    format!("{}\n{}", cell_line(cell), cell_text(cell))
}

fn cell_text(cell: &ExplainedCell) -> String {
    let mut text = String::new();
    if let Some(verdict) = cell.verdict() {
        text += &verdict_text(&verdict);
    }
    if let Some(modality) = &cell.modality {
        modality.text().lines().for_each(|line| {
            let _ = writeln!(text, "  {line}");
        });
    }
    text
}

/// Evidence, runner-up and remedy of a verdict, several lines.
pub fn verdict_text(verdict: &Verdict) -> String {
    let mut text = String::new();
    if !verdict.chosen.detail.is_empty() {
        let _ = writeln!(text, "  {}", verdict.chosen.detail);
    }
    for evidence in &verdict.chosen.evidence {
        let _ = writeln!(text, "  evidence: {}", evidence_words(evidence));
    }
    text + &runner_up_words(verdict.runner_up.as_ref()) + &remedy_words(verdict)
}

/// One line: the runner-up with its weakest evidence, if it comes near.
pub(super) fn runner_up_words(next: Option<&Candidate>) -> String {
    match next {
        Some(next) if next.strength() >= NEAR => {
            format!("  runner-up: {}: {}\n", next.limiter, weakest_words(next))
        }
        Some(_) => "  runner-up: nothing else comes near\n".to_owned(),
        None => String::new(),
    }
}

/// One line: what to change.
pub(super) fn remedy_words(verdict: &Verdict) -> String {
    format!("  remedy: {}\n", verdict.remedy())
}

/// The weakest evidence of a candidate.
fn weakest_words(candidate: &Candidate) -> String {
    let weakest = candidate
        .evidence
        .iter()
        .min_by(|a, b| a.margin().total_cmp(&b.margin()));
    weakest.map_or_else(String::new, evidence_words)
}

/// `sender on a CPU 98.9 % (threshold: at least 75 %)`.
pub fn evidence_words(evidence: &Evidence) -> String {
    let unit = if evidence.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", evidence.unit)
    };
    let (side, bound) = match evidence.bound {
        Bound::AtLeast(bound) => ("at least", bound),
        Bound::AtMost(bound) => ("at most", bound),
    };
    format!(
        "{} {}{unit} (threshold: {side} {}{unit})",
        evidence.counter,
        number(evidence.value),
        number(bound)
    )
}

/// A value as people read it.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        size => format!(
            "{value:.places$}",
            places = (1.0 - size.log10().floor()).min(9.0) as usize
        ),
    }
}
