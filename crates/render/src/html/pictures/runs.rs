//! One run of each cell over time: throughput at both endpoints, retransmitted segments, window, round-trip time.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::{Findings, Single};
use bitcost_analysis::frame::{Stretch, stretches};
use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use bitcost_study::Scale;

use super::picture::{Picture, by_cell};
use crate::html::chart::{Axis, Chart, Mark, Marks, Trace};
use crate::number;
use bitcost_analysis::statistics::Interval;

/// One line: the endpoint, the name of the column, and its name in the legend.
type Line = (Role, &'static str, &'static str);

/// The title of each panel's axis, and its lines.
const PANELS: &[(&str, &[Line])] = &[
    (
        "Mbit/s",
        &[
            (Role::Sender, "throughput_mbps", "throughput, sent"),
            (Role::Receiver, "throughput_mbps", "throughput, received"),
        ],
    ),
    (
        "retransmitted",
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
    ("RTT (µs)", &[(Role::Sender, "rtt_us", "round-trip time")]),
];

/// The height of a panel.
const HEIGHT: f64 = 110.0;

const NEAREST: &str = "The run of this cell that lies nearest to the median; a point per stretch between two samples.";

/// The most cells of which one run is drawn.
const CELLS: usize = 12;

pub(super) fn draw(execution: &Findings) -> Vec<Picture> {
    let Some(metric) = bitcost_analysis::summary::measured(&execution.summary)
        .into_iter()
        .next()
    else {
        return Vec::new();
    };
    // The run of each cell that lies nearest to the median.
    let cells = by_cell(execution, metric);
    let typical = |(cell, values): &(&CellSummary, Vec<(u32, f64)>)| {
        let median = cell.figure(metric.name)?.value;
        let away = |value: f64| (value - median).abs();
        let nearest = values
            .iter()
            .min_by(|(_, a), (_, b)| away(*a).total_cmp(&away(*b)))?;
        Some((cell.name(), nearest.0 - 1, values.len()))
    };
    let runs: Vec<(String, u32, usize)> = cells.iter().take(CELLS).filter_map(typical).collect();
    let found = stretches(execution, false, |row| {
        runs.iter().any(|(_, wanted, _)| *wanted == row.run)
    });
    let is_both = |of: &Single| of.first.conditions.direction == Direction::Both;
    let way = match execution.single().as_ref().is_some_and(is_both) {
        true => ", forward",
        false => "",
    };
    let of = |(cell, run, count): &(String, u32, usize)| {
        let caption = match count {
            1 => "A point per stretch between two samples.",
            _ => NEAREST,
        };
        let picture = of_run(&format!("{cell}, run {}{way}.", run + 1), found.get(run)?)?;
        Some(Picture {
            caption: caption.to_owned(),
            ..picture
        })
    };
    let mut drawn: Vec<Picture> = runs.iter().filter_map(of).collect();
    if let (Some(last), true) = (drawn.last_mut(), cells.len() > CELLS) {
        last.note = Some(format!(
            "The first {CELLS} of {} cells are drawn.",
            cells.len()
        ));
    }
    drawn
}

fn of_run(title: &str, stretches: &[Stretch]) -> Option<Picture> {
    let (mut panels, mut series) = (Vec::new(), 0);
    for (axis, lines) in PANELS {
        let mut traces = Vec::new();
        for line in *lines {
            let marks = marks(stretches, line);
            // What never happened is a number in the answer, and no line.
            if marks.iter().any(|mark| mark.y != 0.0) {
                traces.push(Trace::new(line.2, series, Marks::Line(marks)));
                series += 1;
            }
        }
        if !traces.is_empty() {
            panels.push(panel(axis, traces, stretches));
        }
    }
    let has_legend = series > 1;
    (!panels.is_empty() && stretches.len() > 2).then(|| Picture {
        title: title.to_owned(),
        chart: Chart {
            panels: panels.into_iter().flat_map(|chart| chart.panels).collect(),
            has_legend,
        },
        ..Picture::default()
    })
}

fn marks(stretches: &[Stretch], (end, name, words): &Line) -> Vec<Mark> {
    let of_end = stretches.iter().filter(|stretch| stretch.end == *end);
    let mark = |stretch: &Stretch| {
        let value = stretch.figure(name)?;
        let middle = (stretch.begin_s + stretch.end_s) / 2.0;
        let title = format!("{words}, {middle:.2} s: {}", number::plain(value));
        Some(Mark::at(middle, value, &Interval::alone(value), title))
    };
    of_end.filter_map(mark).collect()
}

/// A panel, whose axis of values begins at 0.
fn panel(title: &str, traces: Vec<Trace>, stretches: &[Stretch]) -> Chart {
    let marks = traces.iter().flat_map(|trace| trace.marks.all());
    let values: Vec<f64> = marks.map(|mark| mark.y).collect();
    let times: Vec<f64> = stretches.iter().map(|stretch| stretch.end_s).collect();
    let x = Axis::along(Some(Scale::Linear), &times, &[0.0]);
    let x_title = "seconds since the window began";
    let mut chart = Chart::plain((x, x_title), (Axis::from_zero(&values), title), traces);
    chart.panels[0].height = HEIGHT;
    chart
}
