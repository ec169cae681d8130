//! Where the time goes, as tables of words, sentences and JSON: the CPU time of a KiB or a
//! transaction by layer, at each end of each profiled cell.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_analysis::profile::{EndLayers, Profiled, ProfiledCell, RunProfile};
use bitcost_analysis::statistics::Interval;
use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_model::units::counted;
use serde_json::{Value, json};

use crate::layout::{TextOptions, heading, paragraph};
use crate::lines::Lines;

/// The heading of the tables.
pub(crate) const HEADING: &str = "Where the time goes";
/// Functions below no anchor that are named.
const FUNCTIONS: usize = 5;
/// The share of *other kernel* from which its functions are named.
const MUCH_UNCLASSIFIED: f64 = 0.05;
/// The share of samples requested of busy CPUs that were not taken from which it is said.
const MUCH_MISSED: f64 = 0.1;
/// The share of lost samples and of cut chains from which it is said.
const MUCH_LOST: f64 = 0.01;

/// `at the sender`, `at the client`.
fn place(of: &str, end: Role) -> &'static str {
    match (of, end) {
        ("transaction", Role::Sender) => "at the client",
        ("transaction", Role::Receiver) => "at the server",
        (_, Role::Sender) => "at the sender",
        (_, Role::Receiver) => "at the receiver",
    }
}

/// A table for each end with its title, of at most this many cells.
pub(crate) fn profile_tables(profiled: &Profiled, columns: usize) -> Vec<(String, Lines)> {
    let mut tables = Vec::new();
    for of in ["KiB", "transaction"] {
        for role in [Role::Sender, Role::Receiver] {
            let cells = profiled.cells.iter().filter(|cell| cell.of == of);
            let known: Vec<(&str, &EndLayers)> = cells
                .filter_map(|cell| Some((cell.name.as_str(), cell.end(role)?)))
                .collect();
            for part in known.chunks(columns.max(1)) {
                let title = format!("{HEADING} {}, ns/{of} and share", place(of, role));
                tables.push((title, lines(part)));
            }
        }
    }
    tables
}

fn lines(columns: &[(&str, &EndLayers)]) -> Lines {
    let row = |title: &str, figure: &dyn Fn(&EndLayers) -> Option<String>| {
        let figures = columns
            .iter()
            .map(|(_, end)| figure(end).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(title.to_owned()).chain(figures).collect()
    };
    let ns = |time: &Interval| time.with_places(0);
    let time = |end: &EndLayers, layer: Layer| match end.layer(layer) {
        Some(time) => Some(format!("{} {:3.0} %", ns(time), 100.0 * end.share(layer))),
        None => end.absent.contains(&layer).then(|| "not known".to_owned()),
    };
    let has = |layer: &Layer| columns.iter().any(|(_, end)| time(end, *layer).is_some());
    let mut rows: Vec<Vec<String>> = Layer::ALL
        .into_iter()
        .filter(has)
        .map(|layer| row(layer.title(), &|end| time(end, layer)))
        .collect();
    rows.push(row("sum", &|end| Some(ns(&end.sum))));
    rows.push(row("by the run's CPU accounting", &|end| {
        end.accounted.as_ref().map(ns)
    }));
    let names = columns.iter().map(|(name, _)| *name);
    Lines::new(std::iter::once("layer").chain(names), rows)
}

/// The tables and what is to be known of them, as text.
pub(crate) fn profile_text(profiled: &Profiled, columns: usize, options: TextOptions) -> String {
    let mut text = String::new();
    for (title, lines) in profile_tables(profiled, columns) {
        text += &heading(&title, options);
        text += &lines.text(options.width);
        text.push('\n');
    }
    for words in profile_paragraphs(profiled) {
        text += &paragraph("- ", &words, usize::from(options.width));
    }
    text + "\n"
}

/// What is to be known of the tables, a sentence or two each.
pub(crate) fn profile_paragraphs(profiled: &Profiled) -> Vec<String> {
    let cells = &profiled.cells;
    let runs: usize = cells.iter().map(|cell| cell.runs.len()).sum();
    let mut said = vec![format!(
        "Medians over {}, which are twins of the measured ones; each sample is in one layer, that of the deepest known entry point of its call chain.",
        counted(runs, "profiled run")
    )];
    for cell in cells {
        let ends = cell.ends.iter().flatten();
        said.extend(ends.filter_map(|end| unclassified(cell, end)));
    }
    let ends = cells.iter().flat_map(|cell| cell.ends.iter().flatten());
    let absent: BTreeSet<Layer> = ends.flat_map(|end| end.absent.iter().copied()).collect();
    let titles: Vec<&str> = absent.into_iter().map(Layer::title).collect();
    if !titles.is_empty() {
        said.push(format!(
            "This kernel has none of the functions that identify these layers; their time is counted in the layers that call them: {}.",
            titles.join(", ")
        ));
    }
    for (share, much, words) in [
        (
            (|run: &RunProfile| run.missed) as fn(&RunProfile) -> f64,
            MUCH_MISSED,
            "fewer samples of busy CPUs were taken than requested, as happens when a virtual CPU is often halted; what is missing at an end is counted as its layers \"scheduler\" and \"wake-ups and interrupts\"",
        ),
        (|run| run.lost, MUCH_LOST, "of a run's samples were lost"),
        (
            |run| run.cut,
            MUCH_LOST,
            "of a run's call chains were cut at their longest length; their outermost functions are missing",
        ),
    ] {
        let largest = cells.iter().map(|cell| cell.largest(share));
        let largest = largest.fold(0.0, f64::max);
        if largest > much {
            said.push(format!("Up to {:.0} % {words}.", 100.0 * largest));
        }
    }
    for (reason, runs) in &profiled.left_out {
        said.push(format!("{} left out: {reason}.", counted(*runs, "profile")));
    }
    said
}

/// The largest functions of *other kernel*, where it is much.
fn unclassified(cell: &ProfiledCell, end: &EndLayers) -> Option<String> {
    let share = end.share(Layer::OtherKernel);
    let largest = end.unclassified.iter().take(FUNCTIONS);
    let largest = largest.map(|(name, ns)| format!("{name} {ns:.0} ns"));
    (share > MUCH_UNCLASSIFIED).then(|| {
        format!(
            "{}: {:.0} % {} is in kernel functions that belong to no layer; the largest are {}.",
            cell.name,
            100.0 * share,
            place(cell.of, end.end),
            largest.collect::<Vec<_>>().join(", ")
        )
    })
}

/// The tables for programs: of each cell and end the layers in ns with their bounds and shares.
pub(crate) fn profile_json(profiled: &Profiled) -> Value {
    let layer = |end: &EndLayers, layer: Layer, time: &Interval| {
        let share_pct = 100.0 * end.share(layer);
        json!({ "value": time.value, "low": time.low, "high": time.high, "share_pct": share_pct })
    };
    let end = |end: &EndLayers| {
        let layers = end.layers.iter();
        let layers = layers.map(|(of, time)| (of.name(), layer(end, *of, time)));
        let functions = end.unclassified.iter();
        let function = |(name, ns): &(String, f64)| json!({ "function": name, "ns": ns });
        json!({
            "layers": layers.collect::<BTreeMap<_, _>>(),
            "absent": end.absent.iter().map(|layer| layer.name()).collect::<Vec<_>>(),
            "sum": end.sum,
            "accounted": end.accounted,
            "unclassified": functions.map(function).collect::<Vec<_>>(),
        })
    };
    let cell = |cell: &ProfiledCell| {
        let ends = cell.ends.iter().flatten();
        let ends: BTreeMap<&str, Value> = ends.map(|of| (of.end.name(), end(of))).collect();
        let event = cell.runs.first().map(|(_, run)| run.event.name());
        json!({
            "cell": cell.name, "event": event, "of": cell.of, "unit": "ns", "runs": cell.runs.len(),
            "lost": cell.largest(|run| run.lost), "missed": cell.largest(|run| run.missed),
            "cut": cell.largest(|run| run.cut), "ends": ends,
        })
    };
    let left_out = profiled.left_out.iter();
    json!({
        "cells": profiled.cells.iter().map(cell).collect::<Vec<_>>(),
        "left_out": left_out.map(|(reason, runs)| json!({ "reason": reason, "runs": runs })).collect::<Vec<_>>(),
    })
}
