//! The pictures: one call per kind over the frame of an execution.

mod boxes;
mod changes;
mod cost;
mod cpus;
mod curve;
mod document;
mod limits;
mod medians;
mod narrow;
mod order;
mod point;
mod quantiles;
mod series;

use explain::Explanation;
use metrics::Metric;
use model::harmless_page;
use model::study::{Label, Picture as Wanted, PictureKind as Kind, Scale};
use plotly::common::{ErrorData, ErrorType, Title};
use plotly::layout::{Axis, AxisType, Legend, Margin};
use plotly::{Layout, Plot};
use report::compare::Comparison;
use report::frame::{Execution, Table, csv};
use report::{CellSummary, LOGARITHMIC};
use serde_json::Value;

use narrow::narrowed;

/// One picture with the numbers behind it.
pub(crate) struct Picture {
    /// Its name in the page.
    pub id: String,
    /// Its file's name without the ending.
    pub file: String,
    /// What kinds of it stand together under.
    pub heading: &'static str,
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// What plotly draws: `data` and `layout`.
    pub plot: Value,
    /// The numbers as a file.
    pub csv: String,
    /// Said where not every point is drawn.
    pub sampled: Option<String>,
    /// In CSS pixels.
    pub height: u32,
}

/// What a kind makes: everything but its name in the page.
pub(crate) struct Drawn {
    pub file: String,
    pub title: String,
    pub caption: String,
    pub plot: Plot,
    pub numbers: Table,
    pub sampled: Option<String>,
    pub height: u32,
}

/// A kind's heading and how it is drawn.
type Row = (Kind, &'static str, fn(&Execution, &Wanted, &Explanation) -> Vec<Drawn>);

const KINDS: [Row; 8] = [
    (Kind::Medians, "Beside the document", medians::draw),
    (Kind::Quantiles, "Percentiles", quantiles::draw),
    (Kind::Boxes, "Spread", boxes::draw),
    (Kind::Curve, "Against size", curve::draw),
    (Kind::Cost, "Cost of a message", cost::draw),
    (Kind::Series, "Within a run", series::draw),
    (Kind::Cpus, "CPUs within a run", cpus::draw),
    (Kind::Order, "In order", order::draw),
];

/// The pictures that the study wants, else every kind that has something to show. Their names begin at a number.
pub(crate) fn all(execution: &Execution, explanation: &Explanation, first: usize) -> Vec<Picture> {
    let wanted = execution.summary.study.pictures.clone().unwrap_or_else(|| Kind::ALL.map(Wanted::plain).to_vec());
    let mut pictures: Vec<Picture> = Vec::new();
    for wanted in &wanted {
        let Some((_, heading, draw)) = KINDS.iter().find(|(kind, ..)| *kind == wanted.kind) else { continue };
        for mut drawn in draw(&narrowed(execution, wanted), wanted, explanation) {
            if let Some(title) = &wanted.title {
                drawn.title = format!("{title}. {}", drawn.title);
            }
            let same = pictures.iter().filter(|known| known.file.split(' ').next() == Some(&drawn.file)).count();
            if same > 0 {
                drawn.file = format!("{} {}", drawn.file, same + 1);
            }
            pictures.push(finish(first + pictures.len(), heading, drawn));
        }
    }
    pictures
}

/// A picture per metric of a comparison. Their names begin at a number.
pub(crate) fn of_changes(comparison: &Comparison, first: usize) -> Vec<Picture> {
    let drawn = changes::draw(comparison).into_iter().enumerate();
    drawn.map(|(place, drawn)| finish(first + place, "Changes", drawn)).collect()
}

fn finish(number: usize, heading: &'static str, drawn: Drawn) -> Picture {
    let Drawn { file, title, caption, plot, numbers, sampled, height } = drawn;
    let mut whole: Value = serde_json::from_str(&plot.to_json()).unwrap_or_default();
    one_two_five(&mut whole["layout"]);
    let plot = serde_json::json!({ "data": whole["data"], "layout": whole["layout"] });
    let (numbers, rows) = crate::sampled(numbers);
    let cut = rows.map(|rows| format!("The file holds {} of {rows} rows, evenly chosen.", crate::ROWS));
    let sampled = sampled.into_iter().chain(cut).reduce(|a, b| format!("{a} {b}"));
    let (id, csv) = (format!("p{number}"), csv(&numbers));
    Picture { id, file, heading, title, caption, plot, csv, sampled, height }
}

/// Height of a picture with one panel.
const HEIGHT: u32 = 420;

/// Points that one line or cloud of a picture has at most.
const POINTS: usize = 1000;

/// Points that a picture has at most, unless it has very many lines.
const ALL_POINTS: usize = 5000;

/// Points that each of so many lines or clouds of a picture has at most: so many at least, at most [`POINTS`].
fn points(lines: usize, least: usize) -> usize {
    (ALL_POINTS / lines.max(1)).clamp(least, POINTS)
}

/// Words that mean themselves in plotly, which reads a few tags of HTML.
pub(crate) fn label(words: &str) -> String {
    harmless_page(words).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn axis(title: &str) -> Axis {
    Axis::new().title(Title::with_text(label(title))).auto_margin(true)
}

/// An axis that is logarithmic where its values span much.
fn scaled(title: &str, values: &[f64]) -> Axis {
    let (low, high) =
        values.iter().fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(*value), high.max(*value)));
    if low > 0.0 && low.is_finite() && high / low >= LOGARITHMIC {
        return logarithmic(title, high / low);
    }
    axis(title)
}

/// From this span on a logarithmic axis names powers of ten alone.
const WIDE: f64 = 1e4;

/// Without a form of its own plotly writes 2 for 20 between 10 and 100.
fn logarithmic(title: &str, span: f64) -> Axis {
    let axis = axis(title).type_(AxisType::Log).tick_format("~g");
    if span >= WIDE { axis.dtick(1.0) } else { axis }
}

/// Every axis that is logarithmic and has no ticks of its own names 1, 2 and 5 of each power of ten, which is no number for
/// plotly and so no [`Axis::dtick`].
fn one_two_five(layout: &mut Value) {
    for axis in layout.as_object_mut().into_iter().flatten().filter(|(name, _)| name.contains("axis")) {
        let axis = axis.1;
        if axis["type"] == "log" && axis.get("dtick").is_none() && axis.get("tickvals").is_none() {
            axis["dtick"] = "D2".into();
        }
    }
}

/// The lowest and the highest of values, as a ratio.
fn span(values: &[f64]) -> f64 {
    let above = values.iter().copied().filter(|value| *value > 0.0);
    let (low, high) = above.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    high / low
}

/// An axis that runs as the study wants, else as suits its values.
fn along(title: &str, scale: Option<Scale>, values: &[f64]) -> Axis {
    match scale {
        None => scaled(title, values),
        Some(Scale::Linear) => axis(title),
        Some(Scale::Log) => logarithmic(title, span(values)),
    }
}

/// A legend under a picture of one panel.
fn below() -> Legend {
    Legend::new().orientation(plotly::common::Orientation::Horizontal).y(-0.2)
}

fn layout() -> Layout {
    Layout::new().legend(below()).margin(Margin::new().top(20).right(20)).auto_size(true)
}

/// Lines or clouds that a legend names at most; of more the pointer tells which one it is at.
const LEGEND: usize = 40;

/// The layout of a picture of so many lines or clouds.
fn layout_of(lines: usize) -> Layout {
    if lines > LEGEND { layout().show_legend(false) } else { layout() }
}

/// What stands at an axis: the unit; the picture's title says the rest.
fn named(metric: &Metric) -> String {
    if metric.unit.is_empty() { metric.title.to_owned() } else { metric.unit.to_owned() }
}

/// The shown metrics that a used run has.
fn measured(execution: &Execution) -> Vec<&'static Metric> {
    report::measured(&execution.summary)
}

/// Each cell's name with its used runs that have the metric: number of the run from 1, and value; in the order of runs.
fn by_cell<'a>(execution: &'a Execution, metric: &Metric) -> Vec<(&'a CellSummary, Vec<(u32, f64)>)> {
    let summary = &execution.summary;
    let mut cells: Vec<_> = summary.cells.iter().map(|cell| (cell, Vec::new())).collect();
    for run in &summary.runs {
        if let (Some(value), Some((_, values))) = (run.used_value(metric), cells.get_mut(run.cell)) {
            values.push((run.run + 1, value));
        }
    }
    cells.retain(|(_, values)| !values.is_empty());
    cells.sort_by_cached_key(|(cell, _)| by_levels(execution, cell));
    cells
}

/// The place of a cell: the first factor varies slowest, numbers from the least on, words in the order of the study.
fn by_levels(execution: &Execution, cell: &CellSummary) -> Vec<(i64, usize)> {
    let place = |(name, label): &(String, Label)| {
        let levels = execution.summary.study.factor(name).map_or(&[][..], |factor| &factor.levels);
        let place = levels.iter().position(|level| level.label == *label).unwrap_or(levels.len());
        // Words stand behind the numbers.
        if let Label::Number(number) = label { (*number, 0) } else { (i64::MAX, place) }
    };
    cell.levels.iter().map(place).collect()
}

/// An axis whose places are names, whatever they look like.
fn of_names() -> Axis {
    Axis::new().auto_margin(true).type_(AxisType::Category)
}

/// Whether a cell has so many runs that they have a spread.
fn is_spread(cells: &[(&CellSummary, Vec<(u32, f64)>)]) -> bool {
    cells.iter().any(|(_, values)| values.len() > 1)
}

/// Bars from points down and up to their bounds, and none at a point that has no bounds: the page's script reads what is no
/// number as such.
fn bars(up: impl Iterator<Item = Option<f64>>, down: impl Iterator<Item = Option<f64>>) -> ErrorData {
    let known = |bound: Option<f64>| bound.unwrap_or(f64::NAN);
    ErrorData::new(ErrorType::Data)
        .array(up.map(known).collect())
        .array_minus(down.map(known).collect())
        .symmetric(false)
}

/// What the bars are, as far as the cells have any.
fn bars_caption<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> &'static str {
    let (mut one, mut more) = (false, false);
    cells.for_each(|cell| if cell.runs > 1 { more = true } else { one = true });
    match (one, more) {
        (_, false) => "One run each, so there are no intervals",
        (false, true) => "Medians with their 95 % intervals",
        (true, true) => "Medians with their 95 % intervals; cells of one run have none",
    }
}

/// Cells of which one run is drawn, at most.
const CELLS: usize = 12;

/// Of each cell the used run whose first shown metric lies nearest to the median, and whether there are more cells than that.
fn typical<'a>(execution: &'a Execution) -> (Vec<(&'a CellSummary, u32)>, Option<String>) {
    let Some(metric) = measured(execution).into_iter().next() else { return (Vec::new(), None) };
    let cells = by_cell(execution, metric);
    let more = cells.len().saturating_sub(CELLS);
    let near = |(cell, values): &(&'a CellSummary, Vec<(u32, f64)>)| {
        let median = cell.figure(metric.name)?.value;
        let away = values.iter().map(|(run, value)| (run - 1, (value - median).abs()));
        away.min_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(run, _)| (*cell, run))
    };
    let found = cells.iter().take(CELLS).filter_map(near).collect();
    let note =
        (more > 0).then(|| format!("Drawn of the first {CELLS} cells; {more} more are in the file of intervals."));
    (found, note)
}

/// The sentence under a picture that shows fewer points than there are.
fn note(drawn: usize, all: usize) -> Option<String> {
    (drawn < all).then(|| format!("Sampled: {drawn} of {all} runs are drawn, evenly chosen."))
}
