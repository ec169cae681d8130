//! An explanation as JSON.

use bitcost_analysis::explain::{ExplainedCell, ExplainedRun, Explanation};
use serde_json::{Value, json};

use super::bottleneck::{Bottleneck, Share};

pub fn explanation_json(explanation: &Explanation) -> Value {
    json!({
        "title": explanation.title,
        "cells": explanation.cells.iter().map(cell_json).collect::<Vec<_>>(),
        "warnings": explanation.warnings,
    })
}

/// A cell with the verdicts of its runs.
fn cell_json(cell: &ExplainedCell) -> Value {
    let run = |run: &ExplainedRun| json!({ "run": run.run + 1, "verdict": Bottleneck::of_verdict(&run.verdict) });
    let mut document = json!({
        "cell": cell.name,
        "verdict": cell.verdict().as_ref().map(Bottleneck::of_verdict),
        "shares": Share::all(&cell.shares()),
        "runs": cell.runs.iter().map(run).collect::<Vec<_>>(),
    });
    if let Some(proof) = &cell.proof {
        document["proof"] = json!(proof);
    }
    document
}
