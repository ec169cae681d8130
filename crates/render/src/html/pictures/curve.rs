//! A metric against a numeric factor: median and interval, a line per combination of the other levels.

use bitcost_analysis::cells::ALONE;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{LineOfCells, lines_along, numeric_factor};
use bitcost_model::study::Label;
use bitcost_study::{Bars, Picture as Wanted, PictureKind};

use super::bars::DOCUMENT;
use super::picture::{Picture, bars_caption, named, words};
use crate::html::chart::{Axis, Chart, Mark, Marks, Trace};
use crate::words::{around, factor_words};

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
    let lines = lines_along(&execution.summary, &factor);
    let x_axis = axis(wanted, &lines);
    let (mut traces, mut y, mut bounds) = (Vec::new(), Vec::new(), Vec::new());
    for (series, (name, cells)) in lines.iter().enumerate() {
        // A single line is named after its metric; a level may have the name of a single line.
        let is_alone = lines.len() == 1 && name == ALONE;
        let name = if is_alone {
            metric.title
        } else {
            name.as_str()
        };
        let (mut ours, mut named, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for (level, cell) in cells {
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
            let (x, marks) = match level {
                Label::Number(number) => (*number as f64, &mut ours),
                Label::Text(text) => {
                    let place = x_axis.names.iter().find(|(_, name)| name == text);
                    (place.map_or(f64::NAN, |(place, _)| *place), &mut named)
                }
            };
            let mark = |name: &str, of: &Interval| {
                let title = words(&format!("{name}, {level}"), of, metric.unit);
                Mark::at(x, of.value, of, title)
            };
            marks.push(mark(name, &bar));
            let document = cell.expected(metric.name).map(Interval::alone);
            theirs.extend(document.map(|of| mark(&format!("{name}, {DOCUMENT}"), &of)));
        }
        let all = ours.iter().chain(&named).chain(&theirs);
        y.extend(all.map(|mark| mark.y));
        let document = format!("{name}, {DOCUMENT}");
        let marks = [
            (document.as_str(), Marks::Open(theirs)),
            (name, Marks::Line(ours)),
            (name, Marks::Dots(named)),
        ];
        let drawn = marks.into_iter().filter(|(_, of)| !of.all().is_empty());
        traces.extend(drawn.map(|(name, marks)| Trace::new(name, series, marks)));
    }
    let others = lines.iter().flat_map(|(_, cells)| cells).next();
    let others = others.map_or(&[][..], |(_, cell)| &cell.levels).iter();
    let others = others.filter(|(name, _)| *name != factor && lines.len() > 1);
    let others: Vec<String> = others.map(|(name, _)| factor_words(name)).collect();
    let factor = factor_words(&factor);
    let axes = (x_axis, Axis::along(wanted.y, &y, &bounds));
    (!traces.is_empty()).then(|| Picture {
        title: format!("{} against {factor}.", metric.title),
        caption: caption(wanted, &lines, &traces)
            + &around(" A line for each ", &others.join(" and "), "."),
        chart: Chart::plain((axes.0, &factor), (axes.1, named(metric)), traces),
        ..Picture::default()
    })
}

/// The axis of all levels: numbers, and words after them.
fn axis(wanted: &Wanted, lines: &[LineOfCells]) -> Axis {
    let (mut numbers, mut names) = (Vec::new(), Vec::new());
    for (level, _) in lines.iter().flat_map(|(_, cells)| cells) {
        match level {
            Label::Number(number) => numbers.push(*number as f64),
            Label::Text(text) if !names.contains(text) => names.push(text.clone()),
            Label::Text(_) => {}
        }
    }
    Axis::levels(wanted.x, numbers, names)
}

/// What the bars and the signs of the lines mean.
fn caption(wanted: &Wanted, lines: &[LineOfCells], traces: &[Trace]) -> String {
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
