//! How close the results are to the capacity of the lab's path, measured before the first run.

use bitcost_model::calibration::{Calibration, Capacity};
use serde_json::{Value, json};

use crate::number;
use crate::words::by_cell;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::summary::Summary;

/// The measurements before the first run, and those that were not possible, a sentence each.
pub(crate) fn calibration_text(summary: &Summary) -> Vec<String> {
    let Some(calibration) = &summary.calibration else {
        return Vec::new();
    };
    if let Some(why) = &calibration.left_out {
        return vec![format!(
            "left out ({why}): the capacity of the path was not measured"
        )];
    }
    let mut all = vec![idle(calibration)];
    let rates = || calibration.capacities.iter().filter_map(Capacity::mbps);
    if let (Some(least), Some(most)) = (rates().reduce(f64::min), rates().reduce(f64::max)) {
        let [least, most] = [least, most].map(number::plain);
        all.push(match rates().count() {
            1 => format!("path capacity {least} Mbit/s"),
            count => format!("path capacity {least} to {most} Mbit/s, of {count} settings"),
        });
    }
    let remarks = calibration.capacities.iter().flat_map(|of| {
        let absent = of
            .absent
            .iter()
            .map(|why| format!("capacity not measured: {why}"));
        let caveat = of.caveat.iter();
        let caveat = caveat.map(|why| format!("capacity may be higher than measured: {why}"));
        let cells = of.cells.iter().filter_map(|at| summary.cells.get(*at));
        let cells: Vec<String> = cells.map(CellSummary::name).collect();
        let facts = move |words: String| {
            cells
                .clone()
                .into_iter()
                .map(move |cell| (words.clone(), 0, Some(cell)))
        };
        absent.chain(caveat).flat_map(facts)
    });
    all.extend(by_cell(summary, remarks));
    all
}

fn idle(calibration: &Calibration) -> String {
    let figures = calibration.idle.as_ref().and_then(|pings| pings.figures());
    figures.map_or_else(
        || "idle round trip: not measured".to_owned(),
        |rtt| {
            let [least, mean] = [rtt.min_us, rtt.avg_us].map(|us| us / 1000.0);
            format!("idle round trip before the first run {least:.3} ms, mean {mean:.3} ms")
        },
    )
}

/// The calibration with its figures: `idle_rtt_us`, and `capacities` with `cells` (indices into
/// `cells`), `mbps`, `absent`, `caveat`.
pub(crate) fn calibration_json(calibration: &Calibration) -> Value {
    let capacity = |capacity: &Capacity| {
        let saturation = capacity.saturation.as_ref();
        let conditions = saturation.map(|saturation| &saturation.conditions);
        json!({
            "cells": capacity.cells,
            "mbps": capacity.mbps(),
            "workload": conditions.map(|of| of.workload),
            "send_mode": conditions.map(|of| of.send_mode),
            "receive_mode": conditions.map(|of| of.receive_mode),
            "absent": capacity.absent,
            "caveat": capacity.caveat,
        })
    };
    json!({
        "capacities": calibration.capacities.iter().map(capacity).collect::<Vec<_>>(),
        "idle_rtt_us": calibration.idle.as_ref().and_then(|pings| pings.figures()),
        "left_out": calibration.left_out,
    })
}
