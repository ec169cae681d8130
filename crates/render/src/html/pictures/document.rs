//! The figures of the document on a curve: open signs in the colour of their line.

use bitcost_analysis::execution::Execution;
use bitcost_analysis::metrics::Metric;
use plotly::Scatter;
use plotly::common::{Marker, MarkerSymbol, Mode};

use super::drawing::label;
use super::point::Point;

/// A trace for the plot.
type Signs = Box<Scatter<f64, f64>>;

/// The document's points of a line, and their values; absent where it has none.
pub(crate) fn trace(line: &str, points: &[Point]) -> Option<(Signs, Vec<f64>)> {
    let (x, y): (Vec<f64>, Vec<f64>) = points
        .iter()
        .filter_map(|point| Some((point.x as f64, point.expected?)))
        .unzip();
    if x.is_empty() {
        return None;
    }
    let trace = Scatter::new(x, y.clone())
        .name(format!("{}, document", label(line)))
        .mode(Mode::Markers);
    Some((
        trace
            .marker(Marker::new().symbol(MarkerSymbol::DiamondOpen).size(10))
            .legend_group(label(line)),
        y,
    ))
}

/// A sentence for the caption, if the document has figures of this metric.
pub(crate) fn caption(execution: &Execution, metric: &Metric) -> &'static str {
    let has = execution
        .summary
        .cells
        .iter()
        .any(|cell| cell.expected(metric.name).is_some());
    if has {
        " Open signs are the document's, of other machines."
    } else {
        ""
    }
}
