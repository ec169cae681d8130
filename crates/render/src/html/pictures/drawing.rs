//! Parts that all pictures share: axes, layouts, labels, and the cells that are drawn.

use crate::plots::LOGARITHMIC;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::execution::Execution;
use bitcost_analysis::frame::Table;
use bitcost_analysis::metrics::Metric;
use bitcost_model::harmless_page;
use bitcost_model::study::Label;
use bitcost_study::Scale;
use plotly::common::{ErrorData, ErrorType, Title};
use plotly::layout::{Axis, AxisType, Legend, Margin};
use plotly::{Layout, Plot};
use serde_json::Value;

/// The output of one kind of picture: everything but its name in the page.
pub(crate) struct Drawn {
    pub file: String,
    pub title: String,
    pub caption: String,
    pub plot: Plot,
    pub numbers: Table,
    pub sampled: Option<String>,
    pub height: u32,
}

/// Height of a picture with one panel.
pub(super) const HEIGHT: u32 = 420;

/// The most points of one line or cloud of a picture.
pub(super) const POINTS: usize = 1000;

/// The most points of a picture, unless it has very many lines.
pub(super) const ALL_POINTS: usize = 5000;

/// The most points that each of the picture's lines or clouds has: at least `least`, at most
/// [`POINTS`].
pub(super) fn points(lines: usize, least: usize) -> usize {
    (ALL_POINTS / lines.max(1)).clamp(least, POINTS)
}

/// Escapes words for plotly, which interprets a few tags of HTML.
pub(crate) fn label(words: &str) -> String {
    harmless_page(words)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

pub(super) fn axis(title: &str) -> Axis {
    Axis::new()
        .title(Title::with_text(label(title)))
        .auto_margin(true)
}

/// An axis that is logarithmic if its values span a wide range.
pub(super) fn scaled(title: &str, values: &[f64]) -> Axis {
    let (low, high) = values
        .iter()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    if low > 0.0 && low.is_finite() && high / low >= LOGARITHMIC {
        return logarithmic(title, high / low);
    }
    axis(title)
}

/// The span from which a logarithmic axis names only powers of ten.
pub(super) const WIDE: f64 = 1e4;

/// A logarithmic axis. Without this format, plotly writes 2 for 20 between 10 and 100.
pub(super) fn logarithmic(title: &str, span: f64) -> Axis {
    let axis = axis(title).type_(AxisType::Log).tick_format("~g");
    if span >= WIDE { axis.dtick(1.0) } else { axis }
}

/// Makes every logarithmic axis without its own ticks name 1, 2 and 5 of each power of ten. In
/// plotly this value is not a number, so [`Axis::dtick`] cannot set it.
pub(super) fn one_two_five(layout: &mut Value) {
    for axis in layout
        .as_object_mut()
        .into_iter()
        .flatten()
        .filter(|(name, _)| name.contains("axis"))
    {
        let axis = axis.1;
        if axis["type"] == "log" && axis.get("dtick").is_none() && axis.get("tickvals").is_none() {
            axis["dtick"] = "D2".into();
        }
    }
}

/// The ratio of the highest to the lowest of the values above 0.
pub(super) fn span(values: &[f64]) -> f64 {
    let above = values.iter().copied().filter(|value| *value > 0.0);
    let (low, high) = above.fold((f64::INFINITY, 0.0_f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    high / low
}

/// An axis with the scale that the study wants; if it wants none, with one that suits its values.
pub(super) fn along(title: &str, scale: Option<Scale>, values: &[f64]) -> Axis {
    match scale {
        None => scaled(title, values),
        Some(Scale::Linear) => axis(title),
        Some(Scale::Log) => logarithmic(title, span(values)),
    }
}

/// A legend under a picture of one panel.
pub(super) fn below() -> Legend {
    Legend::new()
        .orientation(plotly::common::Orientation::Horizontal)
        .y(-0.2)
}

pub(super) fn layout() -> Layout {
    Layout::new()
        .legend(below())
        .margin(Margin::new().top(20).right(20))
        .auto_size(true)
}

/// The most lines or clouds that a legend names; with more, only the pointer shows the name of a
/// line.
pub(super) const LEGEND: usize = 40;

/// The layout of a picture with this number of lines or clouds.
pub(super) fn layout_of(lines: usize) -> Layout {
    if lines > LEGEND {
        layout().show_legend(false)
    } else {
        layout()
    }
}

/// The text at an axis: the unit, because the picture's title says the rest.
pub(super) fn named(metric: &Metric) -> String {
    if metric.unit.is_empty() {
        metric.title.to_owned()
    } else {
        metric.unit.to_owned()
    }
}

/// The shown metrics that a used run has.
pub(super) fn measured(execution: &Execution) -> Vec<&'static Metric> {
    bitcost_analysis::summary::measured(&execution.summary)
}

/// Each cell with the metric in used runs: the numbers of these runs, from 1, and their values, in
/// the order of runs.
pub(super) fn by_cell<'a>(
    execution: &'a Execution,
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

/// The sort key of a cell: the first factor varies slowest, numbers are in ascending order, words
/// in the order of the study.
pub(super) fn by_levels(execution: &Execution, cell: &CellSummary) -> Vec<(i64, usize)> {
    let place = |(name, label): &(String, Label)| {
        let levels = execution
            .summary
            .study
            .factor(name)
            .map_or(&[][..], |factor| &factor.levels);
        let place = levels
            .iter()
            .position(|level| level.label == *label)
            .unwrap_or(levels.len());
        // Words are sorted after numbers.
        if let Label::Number(number) = label {
            (*number, 0)
        } else {
            (i64::MAX, place)
        }
    };
    cell.levels.iter().map(place).collect()
}

/// An axis whose values are names, even if they look like numbers.
pub(super) fn of_names() -> Axis {
    Axis::new().auto_margin(true).type_(AxisType::Category)
}

/// Whether a cell has more than one run, and so a spread.
pub(super) fn is_spread(cells: &[(&CellSummary, Vec<(u32, f64)>)]) -> bool {
    cells.iter().any(|(_, values)| values.len() > 1)
}

/// Bars from points down and up to their bounds, and none at a point without bounds: the page's
/// script reads anything that is no number as such.
pub(super) fn bars(
    up: impl Iterator<Item = Option<f64>>,
    down: impl Iterator<Item = Option<f64>>,
) -> ErrorData {
    let known = |bound: Option<f64>| bound.unwrap_or(f64::NAN);
    ErrorData::new(ErrorType::Data)
        .array(up.map(known).collect())
        .array_minus(down.map(known).collect())
        .symmetric(false)
}

/// A caption that says what the bars are, if the cells have any.
pub(super) fn bars_caption<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> &'static str {
    let (mut one, mut more) = (false, false);
    cells.for_each(|cell| {
        if cell.runs > 1 {
            more = true
        } else {
            one = true
        }
    });
    match (one, more) {
        (_, false) => "One run each, so there are no intervals",
        (false, true) => "Medians with their 95 % intervals",
        (true, true) => "Medians with their 95 % intervals; cells of one run have none",
    }
}

/// The most cells of which one run is drawn.
pub(super) const CELLS: usize = 12;

/// The used run of each cell whose first shown metric is closest to the median, and a note if there
/// are more cells than that.
pub(super) fn typical<'a>(
    execution: &'a Execution,
) -> (Vec<(&'a CellSummary, u32)>, Option<String>) {
    let Some(metric) = measured(execution).into_iter().next() else {
        return (Vec::new(), None);
    };
    let cells = by_cell(execution, metric);
    let more = cells.len().saturating_sub(CELLS);
    let near = |(cell, values): &(&'a CellSummary, Vec<(u32, f64)>)| {
        let median = cell.figure(metric.name)?.value;
        let away = values
            .iter()
            .map(|(run, value)| (run - 1, (value - median).abs()));
        away.min_by(|(_, a), (_, b)| a.total_cmp(b))
            .map(|(run, _)| (*cell, run))
    };
    let found = cells.iter().take(CELLS).filter_map(near).collect();
    let note = (more > 0).then(|| {
        format!("Drawn of the first {CELLS} cells; {more} more are in the file of intervals.")
    });
    (found, note)
}

/// The sentence under a picture that shows fewer points than there are.
pub(super) fn note(drawn: usize, all: usize) -> Option<String> {
    (drawn < all).then(|| format!("Sampled: {drawn} of {all} runs are drawn, evenly chosen."))
}
