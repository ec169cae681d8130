//! How close the results are to the capacity of the lab's path, measured before the first run.

use bitcost_model::calibration::{Calibration, Capacity};
use bitcost_model::ping::RttFigures;
use serde_json::{Value, json};

use crate::number;
use bitcost_analysis::summary::Summary;

/// The most capacities that are listed one by one.
const TOLD: usize = 12;

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
    let idle = calibration
        .idle
        .as_ref()
        .and_then(|pings| Some((pings.figures()?, pings.rtts_us.len())));
    let idle = match idle {
        Some((
            RttFigures {
                min_us,
                avg_us,
                mdev_us,
                ..
            },
            count,
        )) => format!(
            "idle round trip before the first run {:.3} ms, mean {:.3} ms, jitter (mdev) {:.3} ms, of {count} echoes",
            min_us / 1000.0,
            avg_us / 1000.0,
            mdev_us / 1000.0
        ),
        None => "idle round trip: not measured".to_owned(),
    };
    let mut all = vec![idle];
    let named = |capacity: &Capacity| {
        Some(format!(
            "{} ({})",
            number::plain(capacity.mbps()?),
            cells(summary, capacity)
        ))
    };
    let known: Vec<String> = calibration.capacities.iter().filter_map(named).collect();
    if !known.is_empty() {
        let more = known.len().saturating_sub(TOLD);
        let more = if more == 0 {
            String::new()
        } else {
            format!("; and {more} more, in --json")
        };
        let list = known
            .iter()
            .take(TOLD)
            .cloned()
            .collect::<Vec<_>>()
            .join("; ");
        all.push(format!(
            "path capacity in Mbit/s, measured with the fastest calls: {list}{more}"
        ));
    }
    let absent = grouped(summary, calibration, |capacity| capacity.absent.as_deref());
    all.extend(
        absent
            .into_iter()
            .map(|(reason, cells)| format!("capacity not measured ({cells}): {reason}")),
    );
    let caveats = grouped(summary, calibration, |capacity| capacity.caveat.as_deref());
    all.extend(caveats.into_iter().map(|(caveat, cells)| {
        format!("capacity may be higher than measured ({cells}): {caveat}")
    }));
    all
}

/// Each remark on capacities, with its cells.
fn grouped<'a>(
    summary: &Summary,
    calibration: &'a Calibration,
    said: impl Fn(&'a Capacity) -> Option<&'a str>,
) -> Vec<(&'a str, String)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (words, capacity) in calibration
        .capacities
        .iter()
        .filter_map(|capacity| Some((said(capacity)?, capacity)))
    {
        let cells = cells(summary, capacity);
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(cells),
            None => groups.push((words, vec![cells])),
        }
    }
    let joined = |(words, mut names): (&'a str, Vec<String>)| {
        let more = names.len().saturating_sub(TOLD);
        names.truncate(TOLD);
        let more = if more == 0 {
            String::new()
        } else {
            format!("; and {more} more")
        };
        (words, names.join("; ") + &more)
    };
    groups.into_iter().map(joined).collect()
}

/// The names of the first cells of a capacity, and how many more there are.
fn cells(summary: &Summary, capacity: &Capacity) -> String {
    if capacity.cells.len() == summary.cells.len() {
        return "all cells".to_owned();
    }
    let names: Vec<String> = capacity
        .cells
        .iter()
        .filter_map(|cell| Some(summary.cells.get(*cell)?.name()))
        .collect();
    match names.as_slice() {
        [] => "no cell".to_owned(),
        [first] => first.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
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
