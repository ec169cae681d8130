//! How close the results are to the capacity of the lab's path, measured before the first run.

use bitcost_model::calibration::{Calibration, Capacity};
use serde_json::{Value, json};

use crate::number;
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
    let remarks = |mark: &str, said: fn(&Capacity) -> Option<&String>| {
        let said = |capacity: &Capacity| {
            let words = said(capacity)?;
            Some(format!("{mark} ({}): {words}", cells(summary, capacity)))
        };
        let sentences = calibration.capacities.iter().filter_map(said);
        sentences.collect::<Vec<_>>()
    };
    all.extend(remarks("capacity not measured", |of| of.absent.as_ref()));
    all.extend(remarks("capacity may be higher than measured", |of| {
        of.caveat.as_ref()
    }));
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

/// The name of a capacity's first cell, and how many more there are.
fn cells(summary: &Summary, capacity: &Capacity) -> String {
    let first = capacity.cells.first().and_then(|at| summary.cells.get(*at));
    let name = first.map_or_else(String::new, |cell| cell.name());
    match capacity.cells.len() {
        all if all == summary.cells.len() => "all cells".to_owned(),
        0 | 1 => name,
        count => format!("{name} and {} more", count - 1),
    }
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
