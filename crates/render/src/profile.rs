//! Where the time goes, as tables of words, sentences and JSON: the CPU time of a KiB or a
//! transaction by layer, at each end of each profiled cell.

use std::collections::{BTreeMap, BTreeSet};

use bitcost_analysis::compare::{ComparedCell, Comparison};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value as Field};
use bitcost_analysis::metrics::metric;
use bitcost_analysis::profile::{EndChange, EndLayers, LayerChange, Profiled, ProfiledCell};
use bitcost_analysis::statistics::Interval;
use bitcost_model::profile::Layer;
use bitcost_model::record::Role;
use bitcost_model::units::counted;
use serde_json::{Value, json};

use crate::layout::{TextOptions, heading, paragraph};
use crate::lines::Lines;

/// The heading of the tables.
pub(crate) const HEADING: &str = "Where the time goes";
/// Layers that a sentence on a change names.
const NAMED: usize = 3;
/// Functions below no anchor that are named.
const FUNCTIONS: usize = 5;
/// The share of *other kernel* from which its functions are named.
const MUCH_UNCLASSIFIED: f64 = 0.05;
/// The share of samples requested of busy CPUs that were not taken from which it is said.
const MUCH_MISSED: f64 = 0.1;
/// The share of chains that were cut from which it is said.
const MUCH_CUT: f64 = 0.01;

/// `at the sender`, `at the client`.
pub(crate) fn place(of: &str, end: Role) -> &'static str {
    match (of, end) {
        ("transaction", Role::Sender) => "at the client",
        ("transaction", Role::Receiver) => "at the server",
        (_, Role::Sender) => "at the sender",
        (_, Role::Receiver) => "at the receiver",
    }
}

/// The ends of a cell that were profiled.
fn ends(cell: &ProfiledCell) -> impl Iterator<Item = &EndLayers> {
    cell.ends.iter().flatten()
}

/// The tables, each with its title: of one cell both ends next to each other, of several a table for
/// each end, of at most this many cells.
pub(crate) fn profile_tables(profiled: &Profiled, columns: usize) -> Vec<(String, Lines)> {
    if let [cell] = &profiled.cells[..] {
        let title = format!("{HEADING}, ns/{}", cell.of);
        let columns = ends(cell).map(|end| (place(cell.of, end.end).to_owned(), end));
        return vec![(title, lines(&columns.collect::<Vec<_>>()))];
    }
    let mut tables = Vec::new();
    for of in ["KiB", "transaction"] {
        for role in [Role::Sender, Role::Receiver] {
            let cells = profiled.cells.iter().filter(|cell| cell.of == of);
            let known: Vec<(String, &EndLayers)> = cells
                .filter_map(|cell| Some((cell.name.clone(), cell.end(role)?)))
                .collect();
            for part in known.chunks(columns.max(1)) {
                let title = format!("{HEADING} {}, ns/{of}", place(of, role));
                tables.push((title, lines(part)));
            }
        }
    }
    tables
}

fn lines(columns: &[(String, &EndLayers)]) -> Lines {
    let row = |title: &str, figure: &dyn Fn(&EndLayers) -> Option<String>| {
        let figures = columns
            .iter()
            .map(|(_, end)| figure(end).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(title.to_owned()).chain(figures).collect()
    };
    let ns = |time: &Interval| time.with_places(0);
    let time = |end: &EndLayers, layer: Layer| match end.layer(layer) {
        None if end.absent.contains(&layer) => Some("not known".to_owned()),
        time => time.map(ns),
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
    rows.push(row("sum ÷ accounting − 1, %", &|end| {
        end.difference_pct.map(|pct| pct.with_places(1))
    }));
    let names = columns.iter().map(|(name, _)| name.as_str());
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

/// The layers that are not known, because the kernel has no function by which they would be.
fn absent_sentence(profiled: &Profiled) -> Option<String> {
    let ends = profiled.cells.iter().flat_map(ends);
    let absent: BTreeSet<Layer> = ends.flat_map(|end| end.absent.iter().copied()).collect();
    let titles: Vec<&str> = absent.into_iter().map(Layer::title).collect();
    (!titles.is_empty()).then(|| {
        format!(
            "This kernel has none of the functions that identify these layers; their time is counted in the layers that call them: {}.",
            titles.join(", ")
        )
    })
}

/// What is to be known of the tables, a sentence or two each.
pub(crate) fn profile_paragraphs(profiled: &Profiled) -> Vec<String> {
    let runs: usize = profiled.cells.iter().map(|cell| cell.runs.len()).sum();
    let mut said = vec![format!(
        "Medians over {}, which are twins of the measured ones; each sample is in one layer, that of the deepest known entry point of its call chain.",
        counted(runs, "profiled run")
    )];
    for (name, changes) in &profiled.improvements {
        let ends = changes.iter();
        said.extend(ends.map(|change| format!("{name}: {}.", change_sentence(change))));
    }
    said.extend(cost_sentence(profiled));
    for cell in &profiled.cells {
        said.extend(ends(cell).filter_map(|end| unclassified(profiled, cell, end)));
    }
    said.extend(absent_sentence(profiled));
    let losses = profiled.cells.iter().map(ProfiledCell::losses);
    let (lost, cut) = losses.fold((0.0, 0.0), |(lost, cut): (f64, f64), (one, other)| {
        (lost.max(one), cut.max(other))
    });
    let missed = profiled.cells.iter().map(ProfiledCell::missed);
    let missed = missed.fold(0.0, f64::max);
    if missed > MUCH_MISSED {
        said.push(format!(
            "Up to {:.0} % fewer samples of busy CPUs were taken than requested, as happens when a virtual CPU is often halted; what is missing at an end is counted as its layers \"scheduler\" and \"wake-ups and interrupts\".",
            100.0 * missed
        ));
    }
    if lost > 0.0 {
        said.push(format!(
            "Up to {:.1} % of a run's samples were lost.",
            100.0 * lost
        ));
    }
    if cut > MUCH_CUT {
        said.push(format!(
            "Up to {:.0} % of a run's call chains were cut at their longest length; their outermost functions are missing.",
            100.0 * cut
        ));
    }
    for (reason, runs) in &profiled.left_out {
        said.push(format!("{} left out: {reason}.", counted(*runs, "profile")));
    }
    said
}

/// `Sampling changed throughput by -0.4 % [-1.0, 0.3] …`
fn cost_sentence(profiled: &Profiled) -> Option<String> {
    let cost = |(name, ratio): &(&'static str, Interval)| {
        let change = ratio.map(|ratio| 100.0 * (ratio - 1.0));
        let title = metric(name)?.title.to_lowercase();
        Some(format!("{title} by {} %", change.with_places(1)))
    };
    let costs: Vec<String> = profiled.costs.iter().filter_map(cost).collect();
    (!costs.is_empty()).then(|| format!("Sampling changed {}.", costs.join(", ")))
}

/// The largest functions of *other kernel*, where it is much.
fn unclassified(profiled: &Profiled, cell: &ProfiledCell, end: &EndLayers) -> Option<String> {
    let share = end.share(Layer::OtherKernel);
    if share <= MUCH_UNCLASSIFIED {
        return None;
    }
    let name = match &profiled.cells[..] {
        [_] => String::new(),
        _ => format!("{}: ", cell.name),
    };
    Some(format!(
        "{name}{:.0} % {} is in kernel functions that belong to no layer; the largest are {}.",
        100.0 * share,
        place(cell.of, end.end),
        functions(end)
    ))
}

/// `kmalloc 12 ns, …`.
fn functions(end: &EndLayers) -> String {
    let largest = end.unclassified.iter().take(FUNCTIONS);
    let words = largest.map(|(name, ns)| format!("{name} {ns:.0} ns"));
    words.collect::<Vec<_>>().join(", ")
}

/// What each end of each cell pays more, by layer, a sentence each.
pub(crate) fn layer_sentences(comparison: &Comparison) -> Vec<String> {
    let cells = comparison.cells.iter();
    let of_cell = |cell: &ComparedCell| {
        let name = cell.name();
        let said = cell.layers.iter().map(change_sentence);
        said.map(|words| format!("{name}: {words}"))
            .collect::<Vec<_>>()
    };
    cells.flat_map(of_cell).collect()
}

/// What an end pays more, by layer: `at the receiver 2.1 µs/KiB more: 0.9 TCP/UDP, …`.
fn change_sentence(change: &EndChange) -> String {
    let us = |ns: f64| format!("{:.2}", ns / 1e3);
    let more = match change.sum.value < 0.0 {
        true => "less",
        false => "more",
    };
    let sign = change.sum.value.signum();
    let named = change.layers.iter().filter(|layer| is_clear(layer));
    let named: Vec<String> = named
        .take(NAMED)
        .map(|layer| format!("{} {}", us(sign * layer.ns.value), layer.layer.title()))
        .collect();
    let bounds = [change.sum.low, change.sum.high].map(|bound| bound.map(|ns| sign * ns));
    let interval = Interval {
        value: change.sum.value.abs() / 1e3,
        low: bounds
            .iter()
            .flatten()
            .copied()
            .reduce(f64::min)
            .map(|ns| ns / 1e3),
        high: bounds
            .iter()
            .flatten()
            .copied()
            .reduce(f64::max)
            .map(|ns| ns / 1e3),
    };
    let of_layers = match named.is_empty() {
        true => "no layer changes clearly".to_owned(),
        false => named.join(", "),
    };
    format!(
        "{} {} µs/{} {more}: {of_layers}",
        place(change.of, change.end),
        interval.with_places(2),
        change.of
    )
}

/// Whether an interval of a change excludes 0, or has no bounds.
fn is_clear(change: &LayerChange) -> bool {
    match (change.ns.low, change.ns.high) {
        (Some(low), Some(high)) => low > 0.0 || high < 0.0,
        _ => change.ns.value != 0.0,
    }
}

/// The tables for programs: of each cell and end the layers in ns with their bounds.
pub(crate) fn profile_json(profiled: &Profiled) -> Value {
    let end = |end: &EndLayers| {
        let layers = end.layers.iter().map(|(layer, time)| (layer.name(), time));
        let activities = end.activities.iter().map(|((layer, activity), ns)| {
            json!({ "layer": layer.name(), "activity": activity.name(), "ns": ns })
        });
        let functions = end.unclassified.iter();
        json!({
            "layers": layers.collect::<BTreeMap<_, _>>(),
            "absent": end.absent.iter().map(|layer| layer.name()).collect::<Vec<_>>(),
            "sum": end.sum,
            "accounted": end.accounted,
            "difference_pct": end.difference_pct,
            "activities": activities.collect::<Vec<_>>(),
            "unclassified": functions.map(|(name, ns)| json!({ "function": name, "ns": ns })).collect::<Vec<_>>(),
        })
    };
    let cell = |cell: &ProfiledCell| {
        let ends: BTreeMap<&str, Value> = ends(cell).map(|of| (of.end.name(), end(of))).collect();
        let ((lost, cut), (wire, other)) = (cell.losses(), cell.others());
        json!({ "cell": cell.name, "event": cell.event(), "wire_cpus": wire, "other_cpus": other, "of": cell.of, "unit": "ns", "runs": cell.runs.len(), "lost": lost, "missed": cell.missed(), "cut": cut, "ends": ends })
    };
    let costs: BTreeMap<_, _> = profiled.costs.iter().copied().collect();
    json!({
        "cells": profiled.cells.iter().map(cell).collect::<Vec<_>>(),
        "improvements": profiled.improvements.iter().map(|(name, changes)| json!({ "from_to": name, "ends": changes_json(changes) })).collect::<Vec<_>>(),
        "sampling": costs,
        "left_out": profiled.left_out.iter().map(|(reason, runs)| json!({ "reason": reason, "runs": runs })).collect::<Vec<_>>(),
    })
}

/// What each end pays more, by layer, for programs.
pub(crate) fn changes_json(changes: &[EndChange]) -> Value {
    let change = |change: &EndChange| {
        let layers = change.layers.iter().map(|of| (of.layer.name(), of.ns));
        let layers: BTreeMap<_, _> = layers.collect();
        json!({ "end": change.end.name(), "of": change.of, "unit": "ns", "sum": change.sum, "layers": layers })
    };
    changes.iter().map(change).collect()
}

/// A row for each layer of each end of each cell.
pub(crate) fn layers_table(executions: &[Findings]) -> Table {
    let columns = [
        "execution",
        "cell",
        "end",
        "layer",
        "of",
        "median_ns",
        "low_ns",
        "high_ns",
        "share_pct",
        "runs",
    ];
    let mut table = Table::new(columns.map(str::to_owned));
    for execution in executions {
        let name = execution.name.as_str();
        for cell in execution.profiled.iter().flat_map(|found| &found.cells) {
            for end in ends(cell) {
                for (layer, time) in &end.layers {
                    table.rows.push(vec![
                        Field::from(name),
                        Field::from(cell.name.as_str()),
                        Field::from(end.end.name()),
                        Field::from(layer.name()),
                        Field::from(cell.of),
                        Field::Number(time.value),
                        Field::from(time.low),
                        Field::from(time.high),
                        Field::Number(100.0 * end.share(*layer)),
                        Field::Whole(cell.runs.len() as i64),
                    ]);
                }
            }
        }
    }
    table
}
