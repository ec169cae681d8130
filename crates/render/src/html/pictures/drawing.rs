//! Parts that all pictures share: axes, layouts, labels, and the cells that are drawn.

use crate::coverage;
use crate::html::svg::{
    Axis, BAND, Chart, LOGARITHMIC, Legend, Marks, Panel, Scale, Trace, WIDTH, range,
};
use crate::number;
use bitcost_analysis::cells::CellSummary;
use bitcost_analysis::findings::Findings;
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;
use bitcost_model::study::Label;
use bitcost_study::Scale as Wanted;

/// The output of one kind of picture: everything but its name in the page.
pub(crate) struct Drawn {
    pub file: String,
    pub title: String,
    pub caption: String,
    pub chart: Chart,
    pub numbers: Table,
    pub sampled: Option<String>,
}

/// Height of a panel whose vertical axis has numbers.
const HEIGHT: f64 = 300.0;

/// The most points of one line or cloud of a picture.
pub(super) const POINTS: usize = 1000;

/// The most points of a picture, unless it has very many lines.
pub(super) const ALL_POINTS: usize = 5000;

/// The most points that each of the picture's lines or clouds has: at least `least`, at most
/// [`POINTS`].
pub(super) fn points(lines: usize, least: usize) -> usize {
    (ALL_POINTS / lines.max(1)).clamp(least, POINTS)
}

/// Round numbers along an axis.
const TICKS: usize = 6;

/// An axis with the scale that the study wants; if it wants none, a logarithmic one if its values
/// span a wide range. Bounds of the values are on it as well.
pub(super) fn along(scale: Option<Wanted>, values: &[f64], bounds: &[f64]) -> Axis {
    let finite = |of: &[f64]| -> Vec<f64> {
        let of = of.iter().copied();
        of.filter(|value| value.is_finite()).collect()
    };
    let (values, mut all) = (finite(values), finite(bounds));
    all.extend(&values);
    let (low, high) = range(values);
    let is_wide = low > 0.0 && high / low >= LOGARITHMIC;
    let is_log = scale.map_or(is_wide, |scale| scale == Wanted::Log);
    all.retain(|value| !is_log || *value > 0.0);
    let (least, most) = range(all);
    match (is_log, least <= most) {
        (_, false) => Axis::linear(0.0, 1.0, TICKS),
        (true, true) => Axis::logarithmic(least, most),
        (false, true) => Axis::linear(least, most, TICKS),
    }
}

/// A linear axis that begins at 0.
pub(super) fn from_zero(values: &[f64]) -> Axis {
    along(Some(Wanted::Linear), values, &[0.0])
}

/// The most lines or clouds that a legend names; with more, only the pointer shows the name of a
/// line.
const LEGEND: usize = 40;

/// A legend of this number of lines or clouds; one alone needs none.
pub(super) fn legend(traces: usize) -> Legend {
    if (2..=LEGEND).contains(&traces) {
        Legend::Traces
    } else {
        Legend::None
    }
}

/// A picture of one panel with numbers along both axes.
pub(super) fn plain(label: &str, x: (Axis, &str), y: (Axis, &str), traces: Vec<Trace>) -> Chart {
    let legend = legend(traces.len());
    let mut chart = one_panel(label, x, (Scale::Numbers(y.0), HEIGHT), traces);
    chart.panels[0].y_title = y.1.to_owned();
    chart.legend = legend;
    chart
}

/// A picture with a band for each name.
pub(super) fn rows(label: &str, x: (Axis, &str), names: Vec<String>, traces: Vec<Trace>) -> Chart {
    let height = BAND * names.len() as f64;
    one_panel(label, x, (Scale::Names(names), height), traces)
}

/// A picture of one panel of this height, without a legend.
fn one_panel(label: &str, x: (Axis, &str), y: (Scale, f64), traces: Vec<Trace>) -> Chart {
    let panel = Panel {
        x: x.0,
        x_title: x.1.to_owned(),
        y: y.0,
        y_title: String::new(),
        height: y.1,
        traces,
        rules: Vec::new(),
        columns: Vec::new(),
    };
    Chart {
        label: label.to_owned(),
        width: WIDTH,
        legend: Legend::None,
        panels: vec![panel],
    }
}

/// The values to which the marks reach.
pub(super) fn reach(traces: &[Trace]) -> Vec<f64> {
    let marks = traces.iter().flat_map(|trace| match &trace.marks {
        Marks::Bars(marks) | Marks::Points(marks) => &marks[..],
        _ => &[],
    });
    marks
        .flat_map(|mark| [Some(mark.x), mark.high])
        .flatten()
        .collect()
}

/// A figure and its bounds in a table of numbers.
pub(crate) fn figure(of: Option<&Interval>) -> [Value; 3] {
    let bounds = |bound: fn(&Interval) -> Option<f64>| Value::from(of.and_then(bound));
    [
        bounds(|of| Some(of.value)),
        bounds(|of| of.low),
        bounds(|of| of.high),
    ]
}

/// What the pointer shows at a mark: `1024, TCP: 5.83 [5.10, 6.01] µs/KiB`.
pub(super) fn words(name: &str, interval: &Interval, metric: &Metric) -> String {
    let words = format!("{name}: {} {}", number::interval(interval), metric.unit);
    words.trim_end().to_owned()
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
pub(super) fn measured(execution: &Findings) -> Vec<&'static Metric> {
    bitcost_analysis::summary::measured(&execution.summary)
}

/// Each cell with the metric in used runs: the numbers of these runs, from 1, and their values, in
/// the order of runs.
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

/// The sort key of a cell: the first factor varies slowest, numbers are in ascending order, words
/// in the order of the study.
pub(super) fn by_levels(execution: &Findings, cell: &CellSummary) -> Vec<(i64, usize)> {
    let place = |(name, label): &(String, Label)| {
        let factor = execution.summary.study.factor(name);
        let levels = factor.map_or(&[][..], |factor| &factor.levels);
        let place = levels.iter().position(|level| level.label == *label);
        // Words are sorted after numbers.
        match label {
            Label::Number(number) => (*number, 0),
            Label::Text(_) => (i64::MAX, place.unwrap_or(levels.len())),
        }
    };
    cell.levels.iter().map(place).collect()
}

/// Whether a cell has more than one run, and so a spread.
pub(super) fn is_spread(cells: &[(&CellSummary, Vec<(u32, f64)>)]) -> bool {
    cells.iter().any(|(_, values)| values.len() > 1)
}

/// A caption that says what the bars are, if the cells have any.
pub(super) fn bars_caption<'a>(cells: impl Iterator<Item = &'a CellSummary>) -> String {
    let (several, one): (Vec<_>, Vec<_>) = cells.partition(|cell| cell.runs > 1);
    if several.is_empty() {
        return "One run each, so there are no intervals".to_owned();
    }
    let words = format!(
        "Medians with their {}",
        coverage::intervals(several.into_iter())
    );
    match one.is_empty() {
        true => words,
        false => format!("{words}; cells of one run have none"),
    }
}

/// The most cells that have a row in a picture.
pub(super) const ROWS: usize = 60;

/// The sentence under a picture that does not show every cell.
pub(super) fn note_rows(all: usize) -> Option<String> {
    (all > ROWS).then(|| format!("The first {ROWS} of {all} cells are drawn."))
}

/// The most cells of which one run is drawn.
pub(super) const CELLS: usize = 12;

/// The used run of each cell whose first shown metric is closest to the median, and a note if there
/// are more cells than that.
pub(super) fn typical<'a>(
    execution: &'a Findings,
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
        format!("The first {CELLS} cells are drawn; {more} more are in the file of intervals.")
    });
    (found, note)
}

/// The sentence under a picture that shows fewer points than there are.
pub(super) fn note(drawn: usize, all: usize) -> Option<String> {
    (drawn < all).then(|| format!("Sampled: {drawn} of {all} runs are drawn, evenly chosen."))
}
