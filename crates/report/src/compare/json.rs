//! A comparison as JSON.

use serde_json::{Value as Json, json};

use super::{Change, Comparison, Pairing, Shift};
use crate::json::levels_json;

/// The comparison as JSON: `old`, `new`, `same_blocks`, `threshold_pct`, `host_differences`,
/// `setting_differences`, `known_to_one_side`, `run_remarks`, `cells` with `levels` and `changes`,
/// `unmatched`. What has no value has no key.
pub fn comparison_json(comparison: &Comparison) -> Json {
    let cells = comparison.cells.iter().map(|cell| {
        let levels = levels_json(&cell.levels);
        json!({ "levels": levels, "changes": cell.changes.iter().map(entry).collect::<Vec<_>>() })
    });
    let unmatched = comparison.unmatched.iter();
    let unmatched = unmatched.map(|only| {
        let mut entry = json!({ "cell": only.cell, "only_in": comparison.side(only.is_old) });
        if let Some(why) = &only.why {
            entry["why"] = json!(why);
        }
        entry
    });
    json!({
        "old": comparison.names.0,
        "new": comparison.names.1,
        "same_blocks": comparison.pairing == Pairing::Blocks,
        "threshold_pct": comparison.threshold_pct,
        "host_differences": comparison.host_differences,
        "setting_differences": comparison.setting_differences,
        "known_to_one_side": comparison.known_to_one,
        "run_remarks": comparison.run_remarks,
        "cells": cells.collect::<Vec<_>>(),
        "unmatched": unmatched.collect::<Vec<_>>(),
    })
}

fn entry(change: &Change) -> Json {
    let mut entry = json!({
        "metric": change.metric.name,
        "old_runs": change.runs.0,
        "new_runs": change.runs.1,
        "paired": change.is_paired,
        "verdict": change.verdict.name().replace(' ', "_"),
    });
    let (old, new) = change.medians;
    let names = match &change.shift {
        Some(Shift::Difference(_)) => ["difference", "low", "high"],
        _ => ["change_pct", "low_pct", "high_pct"],
    };
    let told = change.shift.map(|shift| shift.change());
    let [value, low, high] =
        [told.map(|told| told.value), told.and_then(|told| told.low), told.and_then(|told| told.high)];
    let numbers =
        [("old_median", old), ("new_median", new)].into_iter().chain(names.into_iter().zip([value, low, high]));
    for (name, number) in numbers {
        if let Some(number) = number {
            entry[name] = json!(number);
        }
    }
    entry
}
