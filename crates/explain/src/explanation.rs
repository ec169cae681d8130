//! All that is explained of an execution or of a table of runs, as text and as JSON.

use std::fmt::Write;

use model::units::counted;
use serde_json::{Value, json};

use crate::alike::{alike, group_line, group_words};
use crate::cells::{ExplainedCell, ExplainedRun};
use crate::cost::CostModel;
use crate::limiter::{Bound, Candidate, Evidence, Limiter, Verdict};
use crate::lints::Lint;

/// The evidence of a runner-up may lie this far on the wrong side of a bound, as a share of it, to be worth telling.
const NEAR: f64 = -0.5;

/// What is known of why runs were not faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is explained.
    pub title: String,
    /// Its cells.
    pub cells: Vec<ExplainedCell>,
    /// Cost models, each with the cells that it is of; empty: of all.
    pub costs: Vec<(String, CostModel)>,
    /// What a reader of the result must know.
    pub lints: Vec<Lint>,
    /// Further findings, one sentence each.
    pub remarks: Vec<String>,
}

impl Explanation {
    /// One line for each cell, or for all of which the same is said: their names and what limited them.
    pub fn lines(&self) -> Vec<String> {
        alike(&self.cells).iter().map(|group| group_line(group)).collect()
    }

    /// The explanation for people; with `each_run` a line for every run.
    pub fn text(&self, each_run: bool) -> String {
        let mut text = format!("{}\n", self.title);
        for group in alike(&self.cells) {
            let _ = write!(text, "\n{}", group_words(&group));
            if each_run {
                group.iter().for_each(|cell| text += &run_lines(cell, group.len() > 1));
            }
        }
        for (cells, cost) in &self.costs {
            let of = if cells.is_empty() { String::new() } else { format!("{cells}\n") };
            let _ = write!(text, "\n{of}{}", cost.text());
        }
        let rest = self.remarks.iter().map(|remark| format!("note: {remark}\n"));
        let rest: String = self.lints.iter().map(Lint::line).chain(rest).collect();
        if !rest.is_empty() {
            let _ = write!(text, "\n{rest}");
        }
        text
    }

    /// The explanation for programs.
    pub fn json(&self) -> Value {
        let cost = |(cells, cost): &(String, CostModel)| {
            let mut document = cost.json();
            document["cells"] = json!(cells);
            document
        };
        json!({
            "title": self.title,
            "cells": self.cells.iter().map(cell_json).collect::<Vec<_>>(),
            "cost_models": self.costs.iter().map(cost).collect::<Vec<_>>(),
            "lints": self.lints.iter().map(Lint::json).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

/// One line: the cell and what limited it.
pub(crate) fn cell_line(cell: &ExplainedCell) -> String {
    let Some(verdict) = cell.verdict() else { return format!("{}: no run that can be explained", cell.name) };
    let count = cell.runs.len();
    let shares = cell.shares();
    let confidence = verdict.confidence.name();
    let said = if shares.len() == 1 {
        let unknown = verdict.limiter() == &Limiter::Unknown;
        let sure = if unknown { String::new() } else { format!(", {confidence} confidence") };
        format!("{} ({} of {count}{sure})", verdict.limiter(), counted(count, "run"))
    } else {
        let whole = cell.runs.iter().all(|run| run.verdicts.len() == 1);
        let part = |(limiter, share): &(Limiter, f64)| match whole {
            true => format!("{limiter} in {:.0} of {}", share * count as f64, counted(count, "run")),
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

/// The runner-up with its weakest evidence, where it comes near; a line.
pub(crate) fn runner_up_words(next: Option<&Candidate>) -> String {
    match next {
        Some(next) if next.strength() >= NEAR => format!("  runner-up: {}: {}\n", next.limiter, weakest_words(next)),
        Some(_) => "  runner-up: nothing else comes near\n".to_owned(),
        None => String::new(),
    }
}

/// What to change; a line.
pub(crate) fn remedy_words(verdict: &Verdict) -> String {
    format!("  to move it: {}\n", verdict.remedy())
}

/// The evidence of a candidate that holds least.
fn weakest_words(candidate: &Candidate) -> String {
    let weakest = candidate.evidence.iter().min_by(|a, b| a.margin().total_cmp(&b.margin()));
    weakest.map_or_else(String::new, evidence_words)
}

/// `sender on a CPU 98.9 % (at least 75 %)`.
pub fn evidence_words(evidence: &Evidence) -> String {
    let unit = if evidence.unit.is_empty() { String::new() } else { format!(" {}", evidence.unit) };
    let (side, bound) = match evidence.bound {
        Bound::AtLeast(bound) => ("at least", bound),
        Bound::AtMost(bound) => ("at most", bound),
    };
    format!("{} {}{unit} ({side} {}{unit})", evidence.counter, number(evidence.value), number(bound))
}

/// A value as people read it.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.01 => format!("{value:.2}"),
        size => format!("{value:.places$}", places = (1.0 - size.log10().floor()).min(9.0) as usize),
    }
}

fn run_lines(cell: &ExplainedCell, named: bool) -> String {
    let name = if named { format!("{}: ", cell.name) } else { String::new() };
    cell.runs.iter().map(|run| format!("  {name}{}", run_line(run))).collect()
}

fn run_line(run: &ExplainedRun) -> String {
    let part = |verdict: &Verdict| {
        let share =
            if verdict.share < 0.995 { format!(" {:.0} % of the time", 100.0 * verdict.share) } else { String::new() };
        let detail =
            if verdict.chosen.detail.is_empty() { String::new() } else { format!(" ({})", verdict.chosen.detail) };
        format!("{}{share}{detail}, {} confidence", verdict.limiter(), verdict.confidence.name())
    };
    let parts: Vec<String> = run.verdicts.iter().map(part).collect();
    format!("run {}: {}\n", run.figures.run, parts.join("; "))
}

/// The same for programs.
pub fn cell_json(cell: &ExplainedCell) -> Value {
    let run = |run: &ExplainedRun| json!({ "run": run.figures.run, "verdicts": run.verdicts.iter().map(verdict_json).collect::<Vec<_>>() });
    let shares = cell.shares().into_iter();
    json!({
        "cell": cell.name,
        "verdict": cell.verdict().as_ref().map(verdict_json),
        "shares": shares.map(|(limiter, share)| json!({ "limiter": limiter.name(), "words": limiter.to_string(), "share": share })).collect::<Vec<_>>(),
        "modes": cell.modality.as_ref().map(crate::modality::Modality::json),
        "runs": cell.runs.iter().map(run).collect::<Vec<_>>(),
    })
}

/// A verdict for programs.
pub fn verdict_json(verdict: &Verdict) -> Value {
    json!({
        "limiter": verdict.limiter().name(),
        "words": verdict.limiter().to_string(),
        "detail": verdict.chosen.detail,
        "share": verdict.share,
        "confidence": verdict.confidence.name(),
        "evidence": verdict.chosen.evidence.iter().map(evidence_json).collect::<Vec<_>>(),
        "runner_up": verdict.runner_up.as_ref().map(candidate_json),
        "to_move_it": verdict.remedy(),
    })
}

fn candidate_json(candidate: &Candidate) -> Value {
    let evidence: Vec<Value> = candidate.evidence.iter().map(evidence_json).collect();
    json!({ "limiter": candidate.limiter.name(), "words": candidate.limiter.to_string(), "evidence": evidence })
}

fn evidence_json(evidence: &Evidence) -> Value {
    let (side, bound) = match evidence.bound {
        Bound::AtLeast(bound) => ("at_least", bound),
        Bound::AtMost(bound) => ("at_most", bound),
    };
    json!({
        "counter": evidence.counter, "value": evidence.value, "unit": evidence.unit, side: bound, "holds": evidence.margin() >= 0.0,
    })
}
