//! The pictures: bars, curves, percentiles, boxes, and runs over time.

mod bars;
mod boxes;
mod cells;
mod curve;
mod quantiles;
mod runs;

use std::borrow::Cow;

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::Table;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_model::study::Label;
use bitcost_study::{Picture as Wanted, PictureKind as Kind};

use super::DOCUMENT;
use super::chart::Chart;
use crate::coverage;
use crate::number;

pub(crate) use bars::{Bars, Series};
pub(crate) use cells::first;

/// One picture with the numbers behind it.
#[derive(Default)]
pub(crate) struct Picture {
    /// Its file's name without the ending.
    pub file: String,
    pub title: String,
    /// How to read it.
    pub caption: String,
    pub chart: Chart,
    pub numbers: Table,
    /// What is not drawn.
    pub note: Option<String>,
}

/// The most cells that have a row in a picture.
const ROWS: usize = 60;

/// The most points of a picture, and of one of its lines or clouds.
const ALL_POINTS: usize = 5000;
const POINTS: usize = 1000;

/// The heading above the pictures of each kind, in the order of [`Kind::ALL`].
const HEADINGS: [&str; 5] = [
    DOCUMENT,
    "Percentiles",
    "Spread",
    "Against size",
    "Within a run",
];

/// The pictures that the study wants, each with its heading; if it names none, every kind that has something to show.
pub(crate) fn all(execution: &Findings) -> Vec<(&'static str, Picture)> {
    let wanted = execution.summary.study.pictures.clone();
    let wanted = wanted.unwrap_or_else(|| Kind::ALL.map(Wanted::plain).to_vec());
    let mut pictures: Vec<(&'static str, Picture)> = Vec::new();
    for wanted in &wanted {
        let of = &narrowed(execution, wanted);
        let drawn = match wanted.kind {
            Kind::Bars => cells::compared(of),
            Kind::Quantiles => each_metric(of, quantiles::draw),
            Kind::Boxes => each_metric(of, boxes::draw),
            Kind::Curve => each_metric(of, |of, metric| curve::draw(of, wanted, metric)),
            Kind::Series => runs::draw(of),
        };
        for mut picture in drawn {
            if let Some(title) = &wanted.title {
                picture.title = format!("{title}. {}", picture.title);
            }
            let names = pictures
                .iter()
                .map(|(_, known)| known.file.split(' ').next());
            let same = names.filter(|name| *name == Some(&picture.file)).count();
            if same > 0 {
                picture.file = format!("{} {}", picture.file, same + 1);
            }
            pictures.push((HEADINGS[wanted.kind as usize], picture));
        }
    }
    pictures
}

fn each_metric(
    execution: &Findings,
    draw: impl Fn(&Findings, &'static Metric) -> Option<Picture>,
) -> Vec<Picture> {
    let metrics = bitcost_analysis::summary::measured(&execution.summary).into_iter();
    metrics
        .filter_map(|metric| draw(execution, metric))
        .collect()
}

/// The execution with only the cells and metrics of the picture.
fn narrowed<'a>(execution: &'a Findings, picture: &Wanted) -> Cow<'a, Findings> {
    if picture.of.is_empty() && picture.metrics.is_empty() {
        return Cow::Borrowed(execution);
    }
    let mut execution = execution.clone();
    let summary = &mut execution.summary;
    let mut places = Vec::new();
    let mut kept = 0;
    for cell in &summary.cells {
        let is_shown = picture.shows(&cell.levels);
        places.push(is_shown.then_some(kept));
        kept += usize::from(is_shown);
    }
    summary.cells.retain(|cell| picture.shows(&cell.levels));
    summary.runs.retain_mut(|run| {
        let place = places.get(run.cell).copied().flatten();
        run.cell = place.unwrap_or(run.cell);
        place.is_some()
    });
    if !picture.metrics.is_empty() {
        summary.study.table.metrics.clone_from(&picture.metrics);
        for cell in &mut summary.cells {
            cell.figures
                .retain(|(name, _)| picture.metrics.iter().any(|wanted| wanted == name));
        }
    }
    Cow::Owned(execution)
}

/// The most points that each of the picture's lines or clouds has: at least `least`.
fn points(lines: usize, least: usize) -> usize {
    (ALL_POINTS / lines.max(1)).clamp(least, POINTS)
}

/// What the pointer shows at a mark: `1024, TCP: 5.83 [5.10, 6.01] µs/KiB`.
fn words(name: &str, interval: &Interval, unit: &str) -> String {
    let words = format!("{name}: {} {unit}", number::interval(interval));
    words.trim_end().to_owned()
}

/// The text at an axis: the unit, because the picture's title says the rest.
fn named(metric: &Metric) -> &'static str {
    match metric.unit {
        "" => metric.title,
        unit => unit,
    }
}

/// Each cell with the metric in used runs: the numbers of these runs, from 1, and their values, in the order of runs.
fn by_cell<'a>(
    execution: &'a Findings,
    metric: &Metric,
) -> Vec<(&'a CellSummary, Vec<(u32, f64)>)> {
    let summary = &execution.summary;
    let mut cells: Vec<_> = summary
        .cells
        .iter()
        .map(|cell| (cell, Vec::new()))
        .collect();
    for run in &summary.runs {
        if let (Some(value), Some((_, values))) = (run.used_value(metric), cells.get_mut(run.cell))
        {
            values.push((run.run + 1, value));
        }
    }
    cells.retain(|(_, values)| !values.is_empty());
    cells.sort_by_cached_key(|(cell, _)| by_levels(execution, cell));
    cells
}

/// The sort key of a cell: the first factor varies slowest, numbers are in ascending order, words in the order of the
/// study and after numbers.
fn by_levels(execution: &Findings, cell: &CellSummary) -> Vec<(i64, usize)> {
    let place = |(name, label): &(String, Label)| {
        let factor = execution.summary.study.factor(name);
        let levels = factor.map_or(&[][..], |factor| &factor.levels);
        let place = levels.iter().position(|level| level.label == *label);
        match label {
            Label::Number(number) => (*number, 0),
            Label::Text(_) => (i64::MAX, place.unwrap_or(levels.len())),
        }
    };
    cell.levels.iter().map(place).collect()
}

/// A caption that says what the bars are, if the cells have any.
fn bars_caption<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let (several, one): (Vec<_>, Vec<_>) = cells.partition(|cell| cell.runs > 1);
    if several.is_empty() {
        return "One run each, so there are no intervals.".to_owned();
    }
    let words = coverage::intervals(several.into_iter());
    match one.is_empty() {
        true => format!("Medians with their {words}."),
        false => format!("Medians with their {words}; cells of one run have none."),
    }
}

/// The sentence under a picture that does not show every cell.
fn note_rows(all: usize) -> Option<String> {
    (all > ROWS).then(|| format!("The first {ROWS} of {all} cells are drawn."))
}
