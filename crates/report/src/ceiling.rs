//! How far the results are from what the lab's path carried before the first run.

use model::calibration::{Calibration, Ceiling};
use model::ping::RttFigures;
use serde_json::{Value, json};

use crate::number;
use crate::summary::Summary;
use crate::text::shown_metrics;

/// Name of the throughput as a part of the ceiling.
pub const OF_CEILING: &str = "throughput_of_ceiling_pct";

/// Ceilings that are told one by one.
const TOLD: usize = 12;

/// The metrics that have tables: those that are shown, and the distance from the ceiling where it is known.
pub fn tabled_metrics(summary: &Summary) -> Vec<&str> {
    let mut metrics = shown_metrics(summary);
    if !metrics.contains(&OF_CEILING) && summary.cells.iter().any(|cell| cell.figure(OF_CEILING).is_some()) {
        metrics.push(OF_CEILING);
    }
    metrics
}

/// What was measured before the first run, and what could not be, a sentence each.
pub fn sentences(summary: &Summary) -> Vec<String> {
    let Some(calibration) = &summary.calibration else { return Vec::new() };
    if let Some(why) = &calibration.left_out {
        return vec![format!("left out ({why}): what the path carries was not measured")];
    }
    let idle = calibration.idle.as_ref().and_then(|pings| Some((pings.figures()?, pings.rtts_us.len())));
    let idle = match idle {
        Some((RttFigures { min_us, avg_us, mdev_us, .. }, count)) => format!(
            "idle round trip before the first run {:.3} ms, mean {:.3} ms, jitter (mdev) {:.3} ms, of {count} echoes",
            min_us / 1000.0,
            avg_us / 1000.0,
            mdev_us / 1000.0
        ),
        None => "idle round trip: not measured".to_owned(),
    };
    let mut all = vec![idle];
    let told = |ceiling: &Ceiling| Some(format!("{} ({})", number::plain(ceiling.mbps()?), cells(summary, ceiling)));
    let known: Vec<String> = calibration.ceilings.iter().filter_map(told).collect();
    if !known.is_empty() {
        let more = known.len().saturating_sub(TOLD);
        let more = if more == 0 { String::new() } else { format!("; and {more} more, in --json") };
        let list = known.iter().take(TOLD).cloned().collect::<Vec<_>>().join("; ");
        all.push(format!("with the fastest calls the path carried, in Mbit/s: {list}{more}"));
    }
    let absent = grouped(summary, calibration, |ceiling| ceiling.absent.as_deref());
    all.extend(absent.into_iter().map(|(reason, cells)| format!("no ceiling ({cells}): {reason}")));
    let doubts = grouped(summary, calibration, |ceiling| ceiling.doubt.as_deref());
    all.extend(doubts.into_iter().map(|(doubt, cells)| format!("its ceiling may be too low ({cells}): {doubt}")));
    all
}

/// Each thing that is said of ceilings, with the cells that it is said of.
fn grouped<'a>(
    summary: &Summary,
    calibration: &'a Calibration,
    said: impl Fn(&'a Ceiling) -> Option<&'a str>,
) -> Vec<(&'a str, String)> {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (words, ceiling) in calibration.ceilings.iter().filter_map(|ceiling| Some((said(ceiling)?, ceiling))) {
        let cells = cells(summary, ceiling);
        match groups.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(cells),
            None => groups.push((words, vec![cells])),
        }
    }
    let joined = |(words, mut names): (&'a str, Vec<String>)| {
        let more = names.len().saturating_sub(TOLD);
        names.truncate(TOLD);
        let more = if more == 0 { String::new() } else { format!("; and {more} more") };
        (words, names.join("; ") + &more)
    };
    groups.into_iter().map(joined).collect()
}

/// The first cells of a ceiling by their names, and how many more there are.
fn cells(summary: &Summary, ceiling: &Ceiling) -> String {
    if ceiling.cells.len() == summary.cells.len() {
        return "all cells".to_owned();
    }
    let names: Vec<String> = ceiling.cells.iter().filter_map(|cell| Some(summary.cells.get(*cell)?.name())).collect();
    match names.as_slice() {
        [] => "no cell".to_owned(),
        [first] => first.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    }
}

/// The calibration with its figures: `idle_rtt_us`, and `ceilings` with `cells` by their place in `cells`, `mbps`, `absent`,
/// `doubt`.
pub fn json_of(calibration: &Calibration) -> Value {
    let ceiling = |ceiling: &Ceiling| {
        let mut entry = json!({ "cells": ceiling.cells });
        if let Some(mbps) = ceiling.mbps() {
            entry["mbps"] = json!(mbps);
        }
        if let Some(flood) = &ceiling.flood {
            entry["workload"] = json!(flood.conditions.workload);
            entry["send_mode"] = json!(flood.conditions.send_mode);
            entry["receive_mode"] = json!(flood.conditions.receive_mode);
        }
        for (key, words) in [("absent", &ceiling.absent), ("doubt", &ceiling.doubt)] {
            if let Some(words) = words {
                entry[key] = json!(words);
            }
        }
        entry
    };
    let mut document = json!({ "ceilings": calibration.ceilings.iter().map(ceiling).collect::<Vec<_>>() });
    if let Some(idle) = calibration.idle.as_ref().and_then(|pings| pings.figures()) {
        document["idle_rtt_us"] = json!(idle);
    }
    if let Some(why) = &calibration.left_out {
        document["left_out"] = json!(why);
    }
    document
}
