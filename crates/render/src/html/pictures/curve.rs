//! A metric against a numeric factor: median and interval, a line per combination of the other levels.

use bitcost_analysis::cells::{ALONE, CellSummary};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{lines_along, numeric_factor};
use bitcost_study::{Bars, Picture as Wanted, PictureKind};

use super::bars::DOCUMENT;
use super::picture::{Picture, bars_caption, named, words};
use crate::html::chart::{Axis, Chart, Mark, Marks, Trace};

/// Cells from which a picture with a bar for each is longer than a screen.
const MANY: usize = 24;

/// The most lines that a first picture shows: more are hard to follow.
const LINES: usize = 8;

/// A metric against the numeric factor in the place of a bar for each of many cells; absent where bars are clearer.
pub(super) fn of_many(execution: &Findings, metric: &Metric) -> Option<Picture> {
    let summary = &execution.summary;
    let factor = numeric_factor(summary).filter(|_| summary.cells.len() > MANY)?;
    let lines = lines_along(summary, &factor).len();
    let wanted = Wanted::plain(PictureKind::Curve);
    draw(execution, &wanted, metric).filter(|_| lines <= LINES)
}

pub(super) fn draw(execution: &Findings, wanted: &Wanted, metric: &Metric) -> Option<Picture> {
    let factor = numeric_factor(&execution.summary)?;
    let (mut traces, mut x, mut y, mut bounds) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let lines = lines_along(&execution.summary, &factor);
    for (series, (name, cells)) in lines.iter().enumerate() {
        // A single line is named after its metric; a level may have the name of a single line.
        let is_alone = lines.len() == 1 && name == ALONE;
        let name = if is_alone {
            metric.title
        } else {
            name.as_str()
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for (size, cell) in cells {
            let spread = cell.figures.get(metric.name);
            let Some((figure, spread)) = cell.figure(metric.name).zip(spread) else {
                continue;
            };
            let bar = match wanted.bars {
                Bars::Interval => figure,
                Bars::Range => Interval {
                    low: spread.least,
                    high: spread.largest,
                    ..figure
                },
            };
            bounds.extend([bar.low, bar.high].into_iter().flatten());
            let mark = |name: &str, of: &Interval| {
                let title = words(&format!("{name}, {size}"), of, metric.unit);
                Mark::at(*size as f64, of.value, of, title)
            };
            ours.push(mark(name, &bar));
            let document = cell.expected(metric.name).map(Interval::alone);
            theirs.extend(document.map(|of| mark(&format!("{name}, {DOCUMENT}"), &of)));
        }
        let all = || ours.iter().chain(&theirs);
        x.extend(all().map(|mark| mark.x));
        y.extend(all().map(|mark| mark.y));
        if !theirs.is_empty() {
            let name = format!("{name}, {DOCUMENT}");
            traces.push(Trace::new(&name, series, Marks::Open(theirs)));
        }
        if !ours.is_empty() {
            traces.push(Trace::new(name, series, Marks::Line(ours)));
        }
    }
    let axes = (
        Axis::levels(wanted.x, x),
        Axis::along(wanted.y, &y, &bounds),
    );
    (!traces.is_empty()).then(|| Picture {
        file: format!("curve-{}", metric.name),
        title: format!("{} against {factor}.", metric.title),
        caption: caption(wanted, &lines, &traces),
        chart: Chart::plain((axes.0, &factor), (axes.1, named(metric)), traces),
        ..Picture::default()
    })
}

/// What the bars and the signs of the lines mean.
fn caption(
    wanted: &Wanted,
    lines: &[(String, Vec<(i64, &CellSummary)>)],
    traces: &[Trace],
) -> String {
    let cells = lines
        .iter()
        .flat_map(|(_, cells)| cells)
        .map(|(_, cell)| *cell);
    let mut words = match wanted.bars {
        Bars::Interval => bars_caption(cells.filter(|cell| cell.runs > 0)),
        Bars::Range => "Medians; the bars show the minimum and the maximum of the runs.".to_owned(),
    };
    let is_open = |trace: &Trace| matches!(trace.marks, Marks::Open(_));
    if traces.iter().any(is_open) {
        words += " Open signs are the document's figures, which are from other machines.";
    }
    words
}
