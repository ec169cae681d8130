//! The series of a metric as a table: a small line, first and last value, and change points.

use bitcost_analysis::history::{History, Past, Series, Shifted};
use bitcost_analysis::metrics::Metric;
use bitcost_analysis::statistics::Interval;

use super::words::when;
use crate::lines::Lines;
use crate::number;
use crate::titles::named;

/// The heights of a value in a line.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The most executions of a line; of more, it has the last.
const LINE: usize = 60;

/// The least ratio of the top of a line to its bottom, so that noise is not drawn as a change.
const RANGE: f64 = 1.25;

pub(crate) fn lines(history: &History) -> Vec<(&'static Metric, Lines)> {
    let of_metric = history
        .series
        .chunk_by(|one, next| one.metric.name == next.metric.name);
    of_metric
        .map(|all| {
            let title = named(all[0].metric);
            let header = [title.as_str(), "history", "first", "last", "change points"];
            let rows = all.iter().map(|one| row(history, one));
            (all[0].metric, Lines::new(header, rows))
        })
        .collect()
}

fn row(history: &History, series: &Series) -> Vec<String> {
    let used =
        |(found, past): (&Option<Interval>, &Past)| found.filter(|_| past.left_out.is_none());
    let known = series
        .medians
        .iter()
        .zip(&history.executions)
        .filter_map(used);
    let known: Vec<f64> = known.map(|found| found.value).collect();
    let plain = |value: Option<&f64>| value.map_or("-".to_owned(), |value| number::plain(*value));
    let changes: Vec<String> = series
        .changes
        .iter()
        .map(|change| shown(history, change))
        .collect();
    let changes = match (series.is_judged, changes.is_empty()) {
        (false, _) => "not judged".to_owned(),
        (_, true) => "none".to_owned(),
        _ => changes.join("; "),
    };
    vec![
        series.cell(),
        small(history, series),
        plain(known.first()),
        plain(known.last()),
        changes,
    ]
}

/// `worse on 3 October: -9.1 %`.
fn shown(history: &History, change: &Shifted) -> String {
    let (verdict, when) = (change.verdict.name(), when(history, change.between[1]));
    format!("{verdict} {when}: {:+.1} %", change.pct.value)
}

/// A letter for each execution: the height of its median, `×` where it is left out, a blank where it has none.
fn small(history: &History, series: &Series) -> String {
    let used = series
        .medians
        .iter()
        .zip(&history.executions)
        .map(|(found, execution)| match execution.left_out {
            Some(_) => Err('×'),
            None => found.map(|found| found.value).ok_or(' '),
        });
    let used: Vec<Result<f64, char>> = used.collect();
    let used = &used[used.len().saturating_sub(LINE)..];
    let values = used.iter().filter_map(|one| one.ok());
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let room = ((low + high) / 2.0 * (RANGE - 1.0) - (high - low)).max(0.0) / 2.0;
    let (low, range) = (low - room, high - low + 2.0 * room);
    let height = |value: f64| {
        let share = if range > 0.0 {
            (value - low) / range
        } else {
            0.5
        };
        HEIGHTS[((share * HEIGHTS.len() as f64) as usize).min(HEIGHTS.len() - 1)]
    };
    used.iter()
        .map(|one| one.map_or_else(|sign| sign, height))
        .collect()
}
