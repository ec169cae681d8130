//! An explanation as JSON.

use bitcost_analysis::explain::{
    CostModel, ExplainedCell, ExplainedRun, Explanation, Verdict, Warning,
};
use serde_json::{Value, json};

use super::bottleneck::{Bottleneck, Share};
use super::cost::formula;
use super::names::names_in_line;

/// The explanation.
pub fn explanation_json(explanation: &Explanation) -> Value {
    let cost = |(cells, cost): &(String, CostModel)| {
        let mut document = cost_json(cost);
        document["cells"] = json!(cells);
        document
    };
    json!({
        "title": explanation.title,
        "cells": all(&explanation.cells, cell_json),
        "cost_models": all(&explanation.costs, cost),
        "warnings": all(&explanation.warnings, warning_json),
        "remarks": explanation.remarks,
    })
}

fn all<T>(items: &[T], json: impl Fn(&T) -> Value) -> Value {
    items.iter().map(json).collect()
}

/// A cell with the verdicts of its runs.
fn cell_json(cell: &ExplainedCell) -> Value {
    let run = |run: &ExplainedRun| json!({ "run": run.figures.run, "verdicts": all(&run.verdicts, verdict_json) });
    let mut document = json!({
        "cell": cell.name,
        "limiters": cell.leading().iter().map(|(limiter, _)| limiter.name()).collect::<Vec<_>>(),
        "verdict": cell.verdict().as_ref().map(verdict_json),
        "shares": Share::all(&cell.shares()),
        "runs": all(&cell.runs, run),
    });
    if let Some(proof) = &cell.proof {
        document["proof"] = json!(proof);
    }
    document
}

fn verdict_json(verdict: &Verdict) -> Value {
    json!(Bottleneck::of_verdict(verdict))
}

fn cost_json(cost: &CostModel) -> Value {
    let fit = &cost.fit;
    let place = |(size, ns, runs): &(f64, f64, usize)| json!({ "size_bytes": size, "ns": ns, "runs": runs, "per_byte_share": cost.per_byte_share(*size) });
    json!({
        "of": cost.spent.name(),
        "per": cost.unit.name(),
        "formula": formula(cost),
        "runs": cost.runs,
        "tells": cost.tells(),
        "fixed_ns": fit.intercept,
        "ns_per_byte": fit.slope,
        "r_squared": fit.r_squared,
        "largest_residual": { "share": fit.largest_residual.0, "size_bytes": fit.largest_residual.1 },
        "relative_rms": fit.relative_rms,
        "lack_of_fit": fit.lack_of_fit.map(|lack| json!({ "f": lack.f, "p": lack.p })),
        "equal_at_bytes": fit.equal_at(),
        "sizes": all(&fit.places, place),
    })
}

fn warning_json(warning: &Warning) -> Value {
    json!({
        "warning": warning.name,
        "cell": names_in_line(&warning.cells),
        "found": warning.found,
        "remedy": warning.remedy,
    })
}
