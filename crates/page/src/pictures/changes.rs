//! By how much each cell changed: a point with its interval per cell, in per cent, with a sign and colour by its verdict.

use metrics::Metric;
use plotly::common::{Anchor, DashType, ErrorData, ErrorType, Marker, MarkerSymbol, Mode, Orientation};
use plotly::layout::{Axis, AxisType, CategoryOrder, Legend, Margin, Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};
use report::compare::{Change, Comparison, Verdict, pct};
use report::frame::{Table, Value};

use super::{Drawn, axis, label, layout};

/// Cells that a picture has at most.
const CELLS: usize = 60;

/// Height of a cell's line, in CSS pixels.
const LINE: u32 = 26;

/// Height of what stands about the lines: axis and legend.
const ABOUT: u32 = 130;

pub(crate) fn draw(comparison: &Comparison) -> Vec<Drawn> {
    let mut metrics: Vec<&'static Metric> = Vec::new();
    for change in comparison.cells.iter().flat_map(|cell| &cell.changes) {
        if change.ratio.is_some() && !metrics.iter().any(|known| known.name == change.metric.name) {
            metrics.push(change.metric);
        }
    }
    metrics.into_iter().map(|metric| of_metric(comparison, metric)).collect()
}

fn of_metric(comparison: &Comparison, metric: &'static Metric) -> Drawn {
    let changes = comparison.cells.iter().filter_map(|cell| {
        let change = cell.changes.iter().find(|change| change.metric.name == metric.name && change.ratio.is_some())?;
        Some((cell.name(), change))
    });
    let changes: Vec<(String, &Change)> = changes.collect();
    let mut numbers = Table::new(["cell", "change_pct", "low_pct", "high_pct", "verdict"]);
    numbers.rows.extend(changes.iter().map(|(name, change)| row(name, change)));
    let drawn = &changes[..changes.len().min(CELLS)];
    let mut plot = Plot::new();
    for verdict in Verdict::ALL {
        let of_verdict: Vec<_> = drawn.iter().filter(|(_, change)| change.verdict == verdict).collect();
        if !of_verdict.is_empty() {
            plot.add_trace(points(verdict, &of_verdict));
        }
    }
    // An axis begins below: the first cell stands at its end.
    let names: Vec<String> = drawn.iter().rev().map(|(name, _)| label(name)).collect();
    let y = Axis::new().auto_margin(true).type_(AxisType::Category).category_array(names);
    let y = y.category_order(CategoryOrder::Array);
    let bounds = [-comparison.threshold_pct, comparison.threshold_pct].map(bound).to_vec();
    let legend = Legend::new().orientation(Orientation::Horizontal).y(1.0).y_anchor(Anchor::Bottom);
    let layout = layout().legend(legend).margin(Margin::new().top(50).right(20));
    plot.set_layout(layout.x_axis(axis("change, %")).y_axis(y).shapes(bounds).show_legend(true));
    Drawn {
        file: format!("change-{}", metric.name),
        title: format!("{}, change.", metric.title),
        caption: "New against old in per cent, with 95 % intervals; dotted is the threshold on both sides of 0.".into(),
        plot,
        numbers,
        sampled: (drawn.len() < changes.len())
            .then(|| format!("The first {} of {} cells are drawn.", drawn.len(), changes.len())),
        height: LINE * drawn.len() as u32 + ABOUT,
    }
}

fn points(verdict: Verdict, changes: &[&(String, &Change)]) -> Box<Scatter<f64, String>> {
    let ratios = || changes.iter().filter_map(|(_, change)| change.ratio.as_ref());
    let values: Vec<f64> = ratios().map(|ratio| pct(ratio.value)).collect();
    let up = ratios().map(|ratio| ratio.high.map_or(0.0, |high| pct(high) - pct(ratio.value))).collect();
    let down = ratios().map(|ratio| ratio.low.map_or(0.0, |low| pct(ratio.value) - pct(low))).collect();
    let names = changes.iter().map(|(name, _)| label(name)).collect();
    let bars = ErrorData::new(ErrorType::Data).array(up).array_minus(down).symmetric(false);
    let marker = Marker::new().symbol(sign(verdict)).size(9);
    Scatter::new(values, names).name(verdict.name()).mode(Mode::Markers).marker(marker).error_x(bars).meta("verdict")
}

/// What tells verdicts apart without colour.
fn sign(verdict: Verdict) -> MarkerSymbol {
    match verdict {
        Verdict::Better => MarkerSymbol::TriangleUp,
        Verdict::Worse => MarkerSymbol::TriangleDown,
        Verdict::Same => MarkerSymbol::Circle,
        Verdict::Changed => MarkerSymbol::Diamond,
        Verdict::CannotTell => MarkerSymbol::CircleOpen,
    }
}

/// A line down the picture at a change of so many per cent.
fn bound(pct: f64) -> Shape {
    let line = ShapeLine::new().color("#888888").width(1.0).dash(DashType::Dot);
    Shape::new()
        .shape_type(ShapeType::Line)
        .layer(ShapeLayer::Below)
        .x0(pct)
        .x1(pct)
        .y_ref("paper")
        .y0(0)
        .y1(1)
        .line(line)
}

fn row(name: &str, change: &Change) -> Vec<Value> {
    let ratio = change.ratio.as_ref();
    vec![
        Value::from(name),
        Value::from(ratio.map(|ratio| pct(ratio.value))),
        Value::from(ratio.and_then(|ratio| ratio.low).map(pct)),
        Value::from(ratio.and_then(|ratio| ratio.high).map(pct)),
        Value::from(change.verdict.name()),
    ]
}
