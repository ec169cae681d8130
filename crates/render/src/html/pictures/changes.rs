//! The change of each cell: a point with its interval per cell, in per cent or the metric's unit,
//! with a sign and colour by its verdict.

use bitcost_analysis::compare::{Change, Comparison, Shift, Verdict};
use bitcost_analysis::frame::{Table, Value};
use bitcost_analysis::metrics::Metric;
use plotly::common::{Anchor, DashType, Marker, MarkerSymbol, Mode, Orientation};
use plotly::layout::{CategoryOrder, Legend, Margin, Shape, ShapeLayer, ShapeLine, ShapeType};
use plotly::{Plot, Scatter};

use super::drawing::{Drawn, axis, bars, label, layout, of_names};

/// The most cells in a picture.
const CELLS: usize = 60;

/// Height of a cell's line, in CSS pixels.
const LINE: u32 = 26;

/// Height of the picture's other parts: axis and legend.
const ABOUT: u32 = 130;

/// A metric whose changes are drawn together: changes in per cent, or changes in its own unit.
#[derive(Clone, Copy)]
struct Drawing {
    metric: &'static Metric,
    is_ratio: bool,
}

impl Drawing {
    fn has(self, change: &Change) -> bool {
        let is_ratio = change.shift.map(|shift| matches!(shift, Shift::Ratio(_)));
        change.metric.name == self.metric.name && is_ratio == Some(self.is_ratio)
    }

    fn of(self, comparison: &Comparison) -> Vec<(String, &Change)> {
        let cells = comparison.cells.iter();
        cells
            .filter_map(|cell| {
                Some((
                    cell.name(),
                    cell.changes.iter().find(|change| self.has(change))?,
                ))
            })
            .collect()
    }
}

pub(crate) fn draw(comparison: &Comparison) -> Vec<Drawn> {
    let mut drawings: Vec<Drawing> = Vec::new();
    for change in comparison.changes() {
        let drawing = Drawing {
            metric: change.metric,
            is_ratio: matches!(change.shift, Some(Shift::Ratio(_))),
        };
        if change.shift.is_some() && !drawings.iter().any(|known| known.has(change)) {
            drawings.push(drawing);
        }
    }
    drawings
        .into_iter()
        .map(|drawing| of_metric(comparison, drawing))
        .collect()
}

fn of_metric(comparison: &Comparison, drawing: Drawing) -> Drawn {
    let Drawing { metric, is_ratio } = drawing;
    let changes = drawing.of(comparison);
    let columns = if is_ratio {
        ["change_pct", "low_pct", "high_pct"]
    } else {
        ["difference", "low", "high"]
    };
    let mut numbers = Table::new(["cell"].into_iter().chain(columns).chain(["verdict"]));
    numbers
        .rows
        .extend(changes.iter().map(|(name, change)| row(name, change)));
    let drawn = &changes[..changes.len().min(CELLS)];
    let mut plot = Plot::new();
    for verdict in Verdict::ALL {
        let of_verdict: Vec<_> = drawn
            .iter()
            .filter(|(_, change)| change.verdict == verdict)
            .collect();
        if !of_verdict.is_empty() {
            plot.add_trace(points(verdict, &of_verdict));
        }
    }
    // A vertical axis begins at the bottom, so the first cell is at its end.
    let names: Vec<String> = drawn.iter().rev().map(|(name, _)| label(name)).collect();
    let y = of_names()
        .category_array(names)
        .category_order(CategoryOrder::Array);
    let legend = Legend::new()
        .orientation(Orientation::Horizontal)
        .y(1.0)
        .y_anchor(Anchor::Bottom);
    let mut layout = layout()
        .legend(legend)
        .margin(Margin::new().top(50).right(20));
    let unit = changes
        .first()
        .map_or("", |(_, change)| if is_ratio { "%" } else { change.unit() });
    layout = layout
        .x_axis(axis(&axis_title(unit)))
        .y_axis(y)
        .show_legend(true);
    if is_ratio {
        layout = layout.shapes(
            [-comparison.threshold_pct, comparison.threshold_pct]
                .map(bound)
                .to_vec(),
        );
    }
    plot.set_layout(layout);
    let file = if is_ratio { "change" } else { "difference" };
    Drawn {
        file: format!("{file}-{}", metric.name),
        title: format!("{}, change.", metric.title),
        caption: caption(is_ratio),
        plot,
        numbers,
        sampled: (drawn.len() < changes.len()).then(|| {
            format!(
                "The first {} of {} cells are drawn.",
                drawn.len(),
                changes.len()
            )
        }),
        height: LINE * drawn.len() as u32 + ABOUT,
    }
}

fn axis_title(unit: &str) -> String {
    if unit.is_empty() {
        "change".to_owned()
    } else {
        format!("change, {unit}")
    }
}

fn caption(is_ratio: bool) -> String {
    if is_ratio {
        "New against old in per cent, with 95 % intervals; dotted is the threshold on both sides of 0.".into()
    } else {
        "New less old where a value is 0 or below, so that there is no ratio; with 95 % intervals."
            .into()
    }
}

fn points(verdict: Verdict, changes: &[&(String, &Change)]) -> Box<Scatter<f64, String>> {
    let shifts = || {
        changes
            .iter()
            .filter_map(|(_, change)| Some(change.shift?.change()))
    };
    let values: Vec<f64> = shifts().map(|shift| shift.value).collect();
    let up = shifts().map(|shift| Some(shift.high? - shift.value));
    let down = shifts().map(|shift| Some(shift.value - shift.low?));
    let names = changes.iter().map(|(name, _)| label(name)).collect();
    let bars = bars(up, down);
    let marker = Marker::new().symbol(sign(verdict)).size(9);
    Scatter::new(values, names)
        .name(verdict.name())
        .mode(Mode::Markers)
        .marker(marker)
        .error_x(bars)
        .meta("verdict")
}

/// The sign that distinguishes a verdict without colour.
fn sign(verdict: Verdict) -> MarkerSymbol {
    match verdict {
        Verdict::Better => MarkerSymbol::TriangleUp,
        Verdict::Worse => MarkerSymbol::TriangleDown,
        Verdict::Same => MarkerSymbol::Circle,
        Verdict::Changed => MarkerSymbol::Diamond,
        Verdict::Missing => MarkerSymbol::X,
        Verdict::CannotTell => MarkerSymbol::CircleOpen,
    }
}

/// A vertical line at a change of this many per cent.
fn bound(pct: f64) -> Shape {
    let line = ShapeLine::new()
        .color("#888888")
        .width(1.0)
        .dash(DashType::Dot);
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
    let shift = change.shift.map(|shift| shift.change());
    vec![
        Value::from(name),
        Value::from(shift.map(|shift| shift.value)),
        Value::from(shift.and_then(|shift| shift.low)),
        Value::from(shift.and_then(|shift| shift.high)),
        Value::from(change.verdict.name()),
    ]
}
