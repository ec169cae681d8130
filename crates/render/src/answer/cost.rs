//! The cost at both endpoints: the sums of their figures, and the most expensive and the cheapest cell.

use bitcost_analysis::cells::{CellSummary, RECEIVE_DEMAND};
use bitcost_analysis::metrics::{Metric, metric};
use bitcost_analysis::statistics::Interval;
use bitcost_analysis::summary::{Summary, measured};

use crate::number;

/// The costs of the two endpoints, by the unit that they are of.
const COSTS: [[&str; 2]; 2] = [
    ["send_service_demand_us_per_kib", RECEIVE_DEMAND],
    [
        "send_service_demand_us_per_transaction",
        "receive_service_demand_us_per_transaction",
    ],
];

const THROUGHPUT: &str = "throughput_mbps";

/// What the bars are of: the cost at both endpoints where it is known at both in most cells,
/// otherwise one metric.
pub(crate) fn stacked(summary: &Summary) -> Vec<&'static Metric> {
    let used = || summary.cells.iter().filter(|cell| cell.runs > 0);
    let in_most = |pair: &&[&str; 2]| {
        let has = |cell: &&CellSummary| pair.iter().all(|name| cell.figure(name).is_some());
        2 * used().filter(has).count() > used().count()
    };
    let both = COSTS.iter().find(in_most);
    let found: Vec<_> = both
        .into_iter()
        .flatten()
        .filter_map(|name| metric(name))
        .collect();
    if !found.is_empty() {
        return found;
    }
    let all = measured(summary);
    let first = all
        .iter()
        .find(|metric| metric.name == THROUGHPUT)
        .or(all.first());
    first.copied().into_iter().collect()
}

/// The sum of a cell's figures of these metrics, with the sums of their bounds; none if it lacks
/// one of them.
pub(crate) fn total(cell: &CellSummary, metrics: &[&'static Metric]) -> Option<Interval> {
    let mut sum = Interval {
        value: 0.0,
        low: Some(0.0),
        high: Some(0.0),
    };
    for metric in metrics {
        let figure = cell.figure(metric.name)?;
        sum.value += figure.value;
        sum.low = sum.low.zip(figure.low).map(|(a, b)| a + b);
        sum.high = sum.high.zip(figure.high).map(|(a, b)| a + b);
    }
    Some(sum)
}

/// The cells with a sum of these metrics, least first.
pub(crate) fn ranked<'a>(
    summary: &'a Summary,
    metrics: &[&'static Metric],
) -> Vec<(&'a CellSummary, Interval)> {
    let cells = summary.cells.iter();
    let mut found: Vec<_> = cells
        .filter_map(|cell| Some((cell, total(cell, metrics)?)))
        .collect();
    found.sort_by(|(_, a), (_, b)| a.value.total_cmp(&b.value));
    found
}

/// The most expensive and the cheapest cell, where the study asks what a unit costs and its cells differ
/// by more than their intervals.
pub(super) fn costs(summary: &Summary) -> Option<String> {
    let metrics = stacked(summary);
    let asked = &summary.study.answer;
    let is_asked = asked.is_empty() || asked.iter().any(|name| *name == metrics[0].name);
    if metrics.len() < 2 || !is_asked {
        return None;
    }
    let cells = ranked(summary, &metrics);
    let ((cheap, low), (dear, high)) = (cells.first()?, cells.last()?);
    let of = |bound: Option<f64>, value: f64| bound.unwrap_or(value);
    if of(low.high, low.value) >= of(high.low, high.value) || low.value <= 0.0 {
        return None;
    }
    let what = metrics[0].unit.rsplit('/').next().unwrap_or("KiB");
    let [most, least] = [high.value, low.value].map(number::plain);
    Some(format!(
        "Sending and receiving one {what} costs {most} µs of CPU time with {} and {least} µs with {}, a factor of {}.",
        joined(dear),
        joined(cheap),
        number::plain(high.value / low.value)
    ))
}

/// A cell's name, which no line ends within.
fn joined(cell: &CellSummary) -> String {
    cell.name().replace(' ', "\u{a0}")
}
