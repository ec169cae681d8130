//! One run of each cell over time: throughput at both endpoints, retransmitted segments, window,
//! round-trip time.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Stretch, Table, Value, stretches};
use bitcost_model::record::Role;

use super::drawing::{Drawn, along, from_zero, typical};
use crate::html::svg::{Chart, Legend, Mark, Marks, Panel as Drawing, Scale, Trace, WIDTH};
use crate::number;
use bitcost_study::Picture as Wanted;

/// One line: the endpoint, the name of the column, and its name in the legend.
type Line = (Role, &'static str, &'static str);

/// One panel: the title of its axis, and its lines.
type Panel = (&'static str, &'static [Line]);

const PANELS: &[Panel] = &[
    (
        "Mbit/s",
        &[
            (Role::Sender, "throughput_mbps", "throughput, sent"),
            (Role::Receiver, "throughput_mbps", "throughput, received"),
        ],
    ),
    (
        COUNTS,
        &[(Role::Sender, "retransmits", "retransmitted segments")],
    ),
    (
        "window (segments)",
        &[(
            Role::Sender,
            "congestion_window_segments",
            "congestion window",
        )],
    ),
    (
        "window (bytes)",
        &[(Role::Sender, "congestion_window_bytes", "congestion window")],
    ),
    ("RTT (µs)", &[(Role::Sender, "rtt_us", "round-trip time")]),
    (
        "lost (%)",
        &[(Role::Receiver, "loss_pct", "datagrams lost")],
    ),
];

/// The panel whose figures are counts per stretch: its axis gives the length of a stretch.
const COUNTS: &str = "retransmitted";

/// The most panels of a picture.
const MOST: usize = 5;

const PANEL: f64 = 110.0;

pub(crate) fn draw(execution: &Findings, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let (runs, note) = typical(execution);
    let found = stretches(&execution.events, |run| {
        runs.iter().any(|(_, wanted)| *wanted == run)
    });
    let mut drawn: Vec<Drawn> = runs
        .into_iter()
        .filter_map(|(cell, run)| {
            of_run(cell, run, found.get(&run).filter(|found| found.len() > 2)?)
        })
        .collect();
    if let Some(last) = drawn.last_mut() {
        last.sampled = note;
    }
    drawn
}

fn has(stretches: &[Stretch], (end, name, _): &Line) -> bool {
    stretches
        .iter()
        .any(|stretch| stretch.end == *end && stretch.figures.contains_key(*name))
}

fn of_run(cell: &CellSummary, run: u32, stretches: &[Stretch]) -> Option<Drawn> {
    let shown = PANELS
        .iter()
        .filter(|(_, lines)| lines.iter().any(|line| has(stretches, line)));
    let panels: Vec<&Panel> = shown.take(MOST).collect();
    if panels.is_empty() {
        return None;
    }
    let mut numbers = Table::new(["figure", "end", "begin_s", "end_s", "value"]);
    let mut traces: Vec<Vec<Trace>> = Vec::new();
    let mut series = 0;
    for (_, lines) in &panels {
        let mut of_panel = Vec::new();
        for line in lines.iter().filter(|line| has(stretches, line)) {
            of_panel.push(trace(stretches, line, series, &mut numbers));
            series += 1;
        }
        traces.push(of_panel);
    }
    let title = format!("{}, run {}.", cell.name(), run + 1);
    let panels = panels.iter().zip(traces);
    let chart = Chart {
        label: title.clone(),
        width: WIDTH,
        panels: panels
            .map(|((title, _), traces)| panel(title, traces, stretches))
            .collect(),
        legend: Legend::Traces,
    };
    Some(Drawn {
        file: format!("run-{}", run + 1),
        title,
        caption: "The run of this cell that lies nearest to the median; a point per stretch between two samples."
            .into(),
        chart,
        numbers,
        sampled: None,
    })
}

/// One line, whose stretches become rows of the table.
fn trace(
    stretches: &[Stretch],
    (end, name, words): &Line,
    series: usize,
    numbers: &mut Table,
) -> Trace {
    let of_end = stretches.iter().filter(|stretch| stretch.end == *end);
    let mut marks = Vec::new();
    for stretch in of_end {
        let Some(value) = stretch.figures.get(*name).copied() else {
            continue;
        };
        let middle = (stretch.begin_s + stretch.end_s) / 2.0;
        let title = format!("{words}, {middle:.2} s: {}", number::plain(value));
        marks.push(Mark::at(middle, value, None, title));
        let times = [stretch.begin_s, stretch.end_s, value].map(Value::Number);
        numbers.rows.push(
            [Value::from(*name), Value::from(end.name())]
                .into_iter()
                .chain(times)
                .collect(),
        );
    }
    Trace::new(words, series, Marks::Line(marks))
}

/// A panel, whose axis of values begins at 0.
fn panel(title: &str, traces: Vec<Trace>, stretches: &[Stretch]) -> Drawing {
    let values: Vec<f64> = traces
        .iter()
        .flat_map(|trace| match &trace.marks {
            Marks::Line(marks) => &marks[..],
            _ => &[],
        })
        .map(|mark| mark.y)
        .collect();
    let times: Vec<f64> = stretches.iter().map(|stretch| stretch.end_s).collect();
    Drawing {
        x: along(Some(bitcost_study::Scale::Linear), &times, &[0.0]),
        x_title: "seconds since the start of the window".to_owned(),
        y: Scale::Numbers(from_zero(&values)),
        y_title: if title == COUNTS {
            format!("{COUNTS} per {}", length(stretches))
        } else {
            title.to_owned()
        },
        height: PANEL,
        traces,
        rules: Vec::new(),
        columns: Vec::new(),
    }
}

/// The length of a stretch, rounded: `100 ms`, `1 s`.
fn length(stretches: &[Stretch]) -> String {
    let mut lengths: Vec<f64> = stretches
        .iter()
        .map(|stretch| stretch.end_s - stretch.begin_s)
        .collect();
    lengths.sort_by(f64::total_cmp);
    let middle = lengths.get(lengths.len() / 2).copied().unwrap_or_default();
    if middle < 0.95 {
        format!("{:.0} ms", (middle * 100.0).round() * 10.0)
    } else {
        format!("{:.0} s", middle.round())
    }
}
