//! One run made several times: medians with their intervals, as text and as JSON.

use std::fmt::Write;

use metrics::{METRICS, Metric, RunView};
use model::study::UntilInterval;
use serde_json::{Map, json};
use stats::Interval;

use crate::frame::{Table, Value};
use crate::precision::width_over_runs_pct;
use crate::{number, single};

/// The result of several runs of the same kind: medians, in brackets their 95 % intervals, and whether the interval that was
/// asked for was reached.
pub fn repeats_text(runs: &[RunView], rule: &UntilInterval) -> String {
    let mut text = format!("{} runs; medians, in brackets their 95 % bootstrap intervals\n", runs.len());
    let Some(first) = runs.first() else { return text };
    for metric in single::shown(first) {
        if let Some(interval) = median(runs, metric) {
            let _ = writeln!(text, "{:<42} {:>24} {}", metric.title, number::interval(&interval), metric.unit);
        }
    }
    let disturbed = runs.iter().filter(|run| metrics::disturbance_pct(run).is_some()).count();
    if disturbed > 0 {
        let bound = metrics::DISTURBED_PCT;
        let _ = writeln!(
            text,
            "disturbed: in {disturbed} runs something else, or soft interrupts in no thread of the run, took over {bound} % of the CPUs' time"
        );
    }
    let UntilInterval { metric, width_pct: asked, .. } = rule;
    let _ = match width_over_runs_pct(runs, metric) {
        Some(width) => {
            let word = if width < *asked { "reached" } else { "not reached" };
            let width = number::plain(width);
            writeln!(text, "interval of the median of {metric} narrower than {asked} %: {word}, it is {width} %")
        }
        None => writeln!(text, "interval of the median of {metric} narrower than {asked} %: not measured"),
    };
    text
}

/// The figures that a text shows as a table: the value of one run, or medians with their intervals.
pub fn repeats_table(runs: &[RunView]) -> Table {
    let is_one = runs.len() == 1;
    let names: &[&str] =
        if is_one { &["metric", "value", "unit"] } else { &["metric", "median", "low", "high", "unit"] };
    let mut table = Table::new(names.iter().copied());
    for metric in runs.first().into_iter().flat_map(single::shown) {
        let Some(Interval { value, low, high }) = median(runs, metric) else { continue };
        let bounds = if is_one { Vec::new() } else { vec![Value::from(low), Value::from(high)] };
        let begin = [Value::from(metric.title), Value::Number(value)];
        table.rows.push(begin.into_iter().chain(bounds).chain([Value::from(metric.unit)]).collect());
    }
    table
}

/// The same as a JSON document: `runs`, per metric `{median, low, high}`, `until_interval`, and each run by itself.
pub fn repeats_json(runs: &[RunView], rule: &UntilInterval) -> serde_json::Value {
    let entry = |metric: &'static Metric| {
        let interval = median(runs, metric)?;
        let value = json!({ "median": interval.value, "low": interval.low, "high": interval.high });
        Some((metric.name.to_owned(), value))
    };
    let metrics: Map<String, serde_json::Value> = METRICS.iter().filter_map(entry).collect();
    let width = width_over_runs_pct(runs, &rule.metric);
    json!({
        "runs": runs.len(),
        "metrics": metrics,
        "until_interval": {
            "metric": rule.metric,
            "asked_pct": rule.width_pct,
            "width_pct": width,
            "reached": width.is_some_and(|width| width < rule.width_pct),
        },
        "repeats": runs.iter().map(single::single_json).collect::<Vec<_>>(),
    })
}

fn median(runs: &[RunView], metric: &Metric) -> Option<Interval> {
    let values: Vec<f64> = runs.iter().filter_map(|run| (metric.compute)(run)).collect();
    stats::median_interval(&values, 0)
}
