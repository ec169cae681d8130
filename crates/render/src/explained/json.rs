//! An explanation as JSON.

use bitcost_analysis::explain::{CostModel, ExplainedCell, ExplainedRun, Explanation};
use serde_json::{Value, json};

use super::bottleneck::{Bottleneck, Share};
use super::cost::formula;

pub fn explanation_json(explanation: &Explanation) -> Value {
    json!({
        "title": explanation.title,
        "cells": explanation.cells.iter().map(cell_json).collect::<Vec<_>>(),
        "cost_models": explanation.costs.iter().map(cost_json).collect::<Vec<_>>(),
        "warnings": explanation.warnings,
    })
}

/// A cell with the verdicts of its runs.
fn cell_json(cell: &ExplainedCell) -> Value {
    let run = |run: &ExplainedRun| json!({ "run": run.figures.run, "verdict": Bottleneck::of_verdict(&run.verdict) });
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

fn cost_json((cells, cost): &(String, CostModel)) -> Value {
    let fit = &cost.fit;
    let place = |(size, ns, runs): &(f64, f64, usize)| json!({ "size_bytes": size, "ns": ns, "runs": runs, "per_byte_share": cost.per_byte_share(*size) });
    json!({
        "cells": cells,
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
        "sizes": fit.places.iter().map(place).collect::<Vec<_>>(),
    })
}
