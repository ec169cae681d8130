//! One run of each cell over time: throughput at both endpoints, retransmitted segments, window,
//! round-trip time.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::explain::Explanation;
use bitcost_analysis::frame::{Stretch, Table, Value, stretches};
use bitcost_model::record::Role;
use plotly::common::{Mode, Title};
use plotly::layout::Axis;
use plotly::{Layout, Plot, Scatter};

use super::drawing::{Drawn, HEIGHT, axis, below, layout, typical};
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
        "window<br>(segments)",
        &[(
            Role::Sender,
            "congestion_window_segments",
            "congestion window",
        )],
    ),
    (
        "window<br>(bytes)",
        &[(Role::Sender, "congestion_window_bytes", "congestion window")],
    ),
    ("RTT (µs)", &[(Role::Sender, "rtt_us", "round-trip time")]),
    ("latency (µs)", &[(Role::Sender, "latency_us", "latency")]),
    (
        "lost (%)",
        &[(Role::Receiver, "loss_pct", "datagrams lost")],
    ),
];

/// The panel whose figures are counts per stretch: its axis gives the length of a stretch.
const COUNTS: &str = "retransmitted";

/// The most panels of a picture.
const MOST: usize = 5;

/// Height of one panel, in CSS pixels.
const PANEL: u32 = 150;

pub(crate) fn draw(execution: &Execution, _: &Wanted, _: &Explanation) -> Vec<Drawn> {
    let (runs, note) = typical(execution);
    let found = stretches(execution.events, |run| {
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
    let mut plot = Plot::new();
    let mut numbers = Table::new(["figure", "end", "begin_s", "end_s", "value"]);
    for (place, (_, lines)) in panels.iter().enumerate() {
        for (end, name, words) in lines.iter().filter(|line| has(stretches, line)) {
            let points = stretches.iter().filter(|stretch| stretch.end == *end);
            let points = points.filter_map(|stretch| Some((stretch, *stretch.figures.get(*name)?)));
            let (mut x, mut y) = (Vec::new(), Vec::new());
            for (stretch, value) in points {
                x.push((stretch.begin_s + stretch.end_s) / 2.0);
                y.push(value);
                let times = [stretch.begin_s, stretch.end_s, value].map(Value::Number);
                numbers.rows.push(
                    [Value::from(*name), Value::from(end.name())]
                        .into_iter()
                        .chain(times)
                        .collect(),
                );
            }
            let trace = Scatter::new(x, y)
                .name(*words)
                .mode(Mode::LinesMarkers)
                .clip_on_axis(false);
            plot.add_trace(if place == 0 {
                trace
            } else {
                trace.y_axis(format!("y{}", place + 1))
            });
        }
    }
    plot.set_layout(panels_layout(&panels, stretches));
    Some(Drawn {
        file: format!("run-{}", run + 1),
        title: format!("{}, run {}.", cell.name(), run + 1),
        caption: "The run of this cell that lies nearest to the median; a point per stretch between two samples."
            .into(),
        plot,
        numbers,
        sampled: None,
        height: height(panels.len()),
    })
}

fn height(panels: usize) -> u32 {
    120 + PANEL * panels as u32
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

/// The panels one above the other, the first on top.
fn panels_layout(panels: &[&Panel], stretches: &[Stretch]) -> Layout {
    let count = panels.len() as f64;
    let mut whole = layout()
        .x_axis(axis("seconds since the window's begin").anchor(format!("y{}", last(panels))));
    // The legend is as far below as under a picture of one panel.
    whole = whole.legend(below().y(-0.2 * f64::from(HEIGHT) / f64::from(height(panels.len()))));
    for (place, (title, _)) in panels.iter().enumerate() {
        let top = 1.0 - place as f64 / count;
        let domain = [top - 0.85 / count, top];
        let title = if *title == COUNTS {
            format!("{COUNTS}<br>per {}", length(stretches))
        } else {
            (*title).to_owned()
        };
        let axis = Axis::new()
            .title(Title::with_text(title))
            .domain(&domain)
            .auto_margin(true);
        let axis = axis.range_mode(plotly::layout::RangeMode::ToZero);
        whole = match place {
            0 => whole.y_axis(axis),
            1 => whole.y_axis2(axis),
            2 => whole.y_axis3(axis),
            3 => whole.y_axis4(axis),
            _ => whole.y_axis5(axis),
        };
    }
    whole
}

/// The number of the lowest axis in plotly's notation: empty for the first.
fn last(panels: &[&Panel]) -> String {
    if panels.len() == 1 {
        String::new()
    } else {
        panels.len().to_string()
    }
}
