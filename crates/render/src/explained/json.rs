//! An explanation as JSON.

use bitcost_analysis::explain::{
    Bound, Candidate, CostModel, Covariate, Evidence, ExplainedCell, ExplainedRun, Explanation,
    Limiter, Modality, Others, Verdict, Warning,
};
use bitcost_analysis::statistics::{Interval, SeparatedRanges};
use bitcost_model::record::Role;
use serde_json::{Value, json};

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

/// What limited a cell, as in the document of an execution: its verdict, and where there are several
/// limiters or two modes, these.
pub(crate) fn bottleneck(cell: &ExplainedCell) -> Value {
    let Some(verdict) = cell.verdict() else {
        return Value::Null;
    };
    let mut document = verdict_json(&verdict);
    let shares = cell.shares();
    if shares.len() > 1 {
        document["shares"] = shares_json(&shares);
    }
    if let Some(modality) = &cell.modality {
        document["modes"] = modes_json(modality);
    }
    document
}

/// Limiters with their shares.
pub(crate) fn shares_json(shares: &[(Limiter, f64)]) -> Value {
    all(
        shares,
        |(limiter, share)| json!({ "limiter": limiter.name(), "words": limiter.to_string(), "share": share }),
    )
}

/// A cell with the verdicts of its runs.
fn cell_json(cell: &ExplainedCell) -> Value {
    let run = |run: &ExplainedRun| json!({ "run": run.figures.run, "verdicts": all(&run.verdicts, verdict_json) });
    json!({
        "cell": cell.name,
        "limiters": cell.leading().iter().map(|(limiter, _)| limiter.name()).collect::<Vec<_>>(),
        "verdict": cell.verdict().as_ref().map(verdict_json),
        "shares": shares_json(&cell.shares()),
        "modes": cell.modality.as_ref().map(modes_json),
        "runs": all(&cell.runs, run),
    })
}

/// A verdict with its evidence.
fn verdict_json(verdict: &Verdict) -> Value {
    let mut document = json!({
        "limiter": verdict.limiter().name(),
        "words": verdict.limiter().to_string(),
        "detail": verdict.chosen.detail,
        "share": verdict.share,
        "confidence": verdict.confidence.name(),
        "evidence": all(&verdict.chosen.evidence, evidence_json),
        "runner_up": verdict.runner_up.as_ref().map(candidate_json),
        "remedy": verdict.remedy(),
    });
    if let Some(others) = &verdict.others {
        document["others"] = others_json(others);
    }
    document
}

/// CPU time of other programs; `remedy` is what to do before the verdict's own.
fn others_json(others: &Others) -> Value {
    json!({
        "role": others.role.map(Role::name),
        "pct_of_a_cpu": others.pct,
        "most": others.most,
        "words": others.to_string(),
        "remedy": others.remedy(),
    })
}

fn candidate_json(candidate: &Candidate) -> Value {
    json!({
        "limiter": candidate.limiter.name(),
        "words": candidate.limiter.to_string(),
        "evidence": all(&candidate.evidence, evidence_json),
    })
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

/// Two modes of a cell.
fn modes_json(modality: &Modality) -> Value {
    let covariate = |covariate: &Covariate| {
        let SeparatedRanges { low, high } = covariate.apart;
        json!({
            "name": covariate.name, "low": [low.0, low.1], "high": [high.0, high.1], "full_in_one_mode": covariate.is_full_in_one(),
        })
    };
    let modes = &modality.modes;
    json!({
        "metric": modality.metric,
        "low": { "mean": modes.low_mean, "runs": modality.low_runs },
        "high": { "mean": modes.high_mean, "runs": modality.high_runs },
        "separation": modes.separation,
        "chance": modes.chance,
        "covariates": all(&modality.covariates, covariate),
    })
}

fn cost_json(cost: &CostModel) -> Value {
    let fit = &cost.fit;
    let interval = |of: &Interval| json!({ "value": of.value, "low": of.low, "high": of.high });
    let place = |(size, ns, runs): &(f64, f64, usize)| json!({ "size_bytes": size, "ns": ns, "runs": runs, "per_byte_share": cost.per_byte_share(*size) });
    json!({
        "of": cost.spent.name(),
        "per": cost.unit.word(),
        "formula": formula(cost),
        "runs": cost.runs,
        "tells": cost.tells(),
        "fixed_ns": interval(&fit.intercept),
        "ns_per_byte": interval(&fit.slope),
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
