//! The whole explanation of an execution or of a table of runs, as text and as JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use crate::explain::alike::{alike, group_line, group_words};
use crate::explain::cells::{ExplainedCell, ExplainedRun};
use crate::explain::cost::CostModel;
use crate::explain::limiter::{Bound, Candidate, Evidence, Verdict};
use crate::explain::warnings::Warning;

/// Why the runs were not faster, as far as it is known.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// What is explained.
    pub title: String,
    /// Its cells.
    pub cells: Vec<ExplainedCell>,
    /// Cost models, each with the names of its cells; an empty name means all cells.
    pub costs: Vec<(String, CostModel)>,
    /// Warnings for the reader of the result.
    pub warnings: Vec<Warning>,
    /// Further findings, one sentence each.
    pub remarks: Vec<String>,
}

impl Explanation {
    /// One line for each cell, or for a group of cells with the same verdict: their names and what
    /// limited them.
    pub fn lines(&self) -> Vec<String> {
        alike(&self.cells)
            .iter()
            .map(|group| group_line(group))
            .collect()
    }

    /// The explanation for people; with `each_run`, it has a line for every run.
    pub fn text(&self, each_run: bool) -> String {
        let mut text = format!("{}\n", self.title);
        for group in alike(&self.cells) {
            let _ = write!(text, "\n{}", group_words(&group));
            if each_run {
                group
                    .iter()
                    .for_each(|cell| text += &run_lines(cell, group.len() > 1));
            }
        }
        for (cells, cost) in &self.costs {
            let of = if cells.is_empty() {
                String::new()
            } else {
                format!("{cells}\n")
            };
            let _ = write!(text, "\n{of}{}", cost.text());
        }
        let rest = self
            .remarks
            .iter()
            .map(|remark| format!("note: {remark}\n"));
        let rest: String = self
            .warnings
            .iter()
            .map(Warning::line)
            .chain(rest)
            .collect();
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
            "warnings": self.warnings.iter().map(Warning::json).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

fn run_lines(cell: &ExplainedCell, named: bool) -> String {
    let name = if named {
        format!("{}: ", cell.name)
    } else {
        String::new()
    };
    cell.runs
        .iter()
        .map(|run| format!("  {name}{}", run_line(run)))
        .collect()
}

fn run_line(run: &ExplainedRun) -> String {
    let part = |verdict: &Verdict| {
        let share = if verdict.share < 0.995 {
            format!(" {:.0} % of the time", 100.0 * verdict.share)
        } else {
            String::new()
        };
        let detail = if verdict.chosen.detail.is_empty() {
            String::new()
        } else {
            format!(" ({})", verdict.chosen.detail)
        };
        format!(
            "{}{share}{detail}, {} confidence",
            verdict.limiter(),
            verdict.confidence.name()
        )
    };
    let parts: Vec<String> = run.verdicts.iter().map(part).collect();
    format!("run {}: {}\n", run.figures.run, parts.join("; "))
}

/// A cell for programs.
pub fn cell_json(cell: &ExplainedCell) -> Value {
    let run = |run: &ExplainedRun| json!({ "run": run.figures.run, "verdicts": run.verdicts.iter().map(verdict_json).collect::<Vec<_>>() });
    let shares = cell.shares().into_iter();
    json!({
        "cell": cell.name,
        "verdict": cell.verdict().as_ref().map(verdict_json),
        "shares": shares.map(|(limiter, share)| json!({ "limiter": limiter.name(), "words": limiter.to_string(), "share": share })).collect::<Vec<_>>(),
        "modes": cell.modality.as_ref().map(crate::explain::modality::Modality::json),
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
        "remedy": verdict.remedy(),
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
