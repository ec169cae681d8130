//! A history as JSON.

use bitcost_analysis::history::{History, Past, Point, Series, Shifted};
use bitcost_analysis::statistics::Interval;
use serde_json::{Map, Value, json};

use super::words::{answer, remarks};
use crate::json_parts::{levels_json, without_null};

/// The history as JSON: `executions`, `series` with `values` and `changes`, `points` with what changed on the hosts,
/// `answer`, `caveats`. Executions are numbered from 0. Absent values have no key.
pub fn history_json(history: &History) -> Value {
    let slopes: Map<String, Value> = history
        .slopes
        .iter()
        .map(|(metric, slope)| (metric.name.to_owned(), json!(slope)))
        .collect();
    let answer = answer(history).into_iter();
    let answer = answer.flat_map(|said| [vec![said.head], said.series].concat());
    without_null(json!({
        "executions": history.executions.iter().map(execution).collect::<Vec<_>>(),
        "threshold_pct": history.threshold_pct,
        "judged_together": history.judged(),
        "speed_slopes": slopes,
        "series": history.series.iter().map(series).collect::<Vec<_>>(),
        "points": history.points.iter().map(|one| point(history, one)).collect::<Vec<_>>(),
        "answer": answer.collect::<Vec<_>>(),
        "caveats": remarks(history),
    }))
}

fn execution(past: &Past) -> Value {
    json!({
        "name": past.name,
        "began_at": past.began_at,
        "used": past.left_out.is_none(),
        "why": past.left_out,
    })
}

fn series(series: &Series) -> Value {
    let values = series.medians.iter().enumerate();
    let values = values.filter_map(|(number, found)| {
        let Interval { value, low, high } = found.as_ref()?;
        Some(json!({ "execution": number, "median": value, "low": low, "high": high }))
    });
    json!({
        "metric": series.metric.name,
        "levels": levels_json(&series.levels),
        "judged": series.is_judged,
        "values": values.collect::<Vec<_>>(),
        "changes": series.changes.iter().map(change).collect::<Vec<_>>(),
    })
}

fn change(change: &Shifted) -> Value {
    json!({
        "between": change.between,
        "old_median": change.medians[0],
        "new_median": change.medians[1],
        "chance": change.chance,
        "verdict": change.verdict.name(),
        "change_pct": change.pct.value,
        "low_pct": change.pct.low,
        "high_pct": change.pct.high,
    })
}

fn point(history: &History, point: &Point) -> Value {
    json!({
        "between": point.between,
        "series": point.changes.iter().map(|(series, _)| series).collect::<Vec<_>>(),
        "most_series": history.is_common(point),
        "differences": point.differences,
        "machine_differences": point.machine,
    })
}
