//! One picture, and what the kinds of pictures share: points, words at marks, and the order of cells.

use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_model::study::Label;

use crate::html::chart::Chart;
use crate::number;
use crate::words::{factor_words, intervals_of};

#[derive(Default)]
pub(crate) struct Picture {
    pub title: String,
    pub caption: String,
    pub chart: Chart,
    pub note: Option<String>,
}

/// The most cells that have a row in a picture.
pub(crate) const ROWS: usize = 60;

/// The most points of a picture, and of one of its lines or clouds.
const ALL_POINTS: usize = 5000;
const POINTS: usize = 1000;

/// The most points that each of the picture's lines or clouds has: at least `least`.
pub(super) fn points(lines: usize, least: usize) -> usize {
    (ALL_POINTS / lines.max(1)).clamp(least, POINTS)
}

/// What the pointer shows at a mark: `1024, TCP: 5.83 [5.10, 6.01] µs/KiB`.
pub(super) fn words(name: &str, interval: &Interval, unit: &str) -> String {
    let words = format!("{name}: {} {unit}", number::interval(interval));
    words.trim_end().to_owned()
}

/// The text at an axis: the unit, because the picture's title says the rest.
pub(super) fn named(metric: &Metric) -> &'static str {
    match metric.unit {
        "" => metric.title,
        unit => unit,
    }
}

/// Each cell with the metric in used runs: the numbers of these runs, from 1, and their values, in the order of runs.
pub(super) fn by_cell<'a>(
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
pub(super) fn by_levels(execution: &Findings, cell: &CellSummary) -> Vec<(i64, usize)> {
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

/// What the names of cells consist of: `message size (bytes) · transport`.
pub(super) fn factors<'a>(mut cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let levels = cells.next().map_or(&[][..], |cell| &cell.levels);
    let names = levels.iter().map(|(name, _)| factor_words(name));
    names.collect::<Vec<_>>().join(" · ")
}

pub(super) fn bars_caption<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let (several, one): (Vec<_>, Vec<_>) = cells.partition(|cell| cell.runs > 1);
    let is_bounded = |cell: &&CellSummary| cell.has_bounds();
    if several.is_empty() {
        return match one.iter().any(is_bounded) {
            true => "One run each, with its own interval.".to_owned(),
            false => "One run each, so there are no intervals.".to_owned(),
        };
    }
    let words = intervals_of(several.into_iter());
    match one.iter().all(is_bounded) {
        true => format!("Medians with their {words}."),
        false => format!("Medians with their {words}; cells of one run have none."),
    }
}

/// The sentence under a picture that does not show every cell.
pub(crate) fn note_rows(all: usize) -> Option<String> {
    (all > ROWS).then(|| format!("The first {ROWS} of {all} cells are drawn."))
}
