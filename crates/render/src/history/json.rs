//! A history as JSON.

use bitcost_analysis::history::{History, Past, Point, Series, Shifted};
use bitcost_analysis::statistics::Interval;
use serde_json::{Map, Value, json};

use super::words::{answer, remarks};
use crate::levels::levels_json;

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
    json!({
        "executions": history.executions.iter().map(execution).collect::<Vec<_>>(),
        "threshold_pct": history.threshold_pct,
        "judged_together": history.judged(),
        "speed_slopes": slopes,
        "series": history.series.iter().map(series).collect::<Vec<_>>(),
        "points": history.points.iter().map(|one| point(history, one)).collect::<Vec<_>>(),
        "answer": answer.collect::<Vec<_>>(),
        "caveats": remarks(history),
    })
}

fn execution(past: &Past) -> Value {
    let mut entry =
        json!({ "name": past.name, "began_at": past.began_at, "used": past.left_out.is_none() });
    if let Some(why) = &past.left_out {
        entry["why"] = json!(why);
    }
    entry
}

fn series(series: &Series) -> Value {
    let values = series
        .medians
        .iter()
        .enumerate()
        .filter_map(|(number, found)| {
            let mut entry = json!({ "execution": number });
            fill(&mut entry, found.as_ref()?, ["median", "low", "high"]);
            Some(entry)
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
    let mut entry = json!({
        "between": change.between,
        "old_median": change.medians[0],
        "new_median": change.medians[1],
        "chance": change.chance,
        "verdict": change.verdict.name(),
    });
    fill(
        &mut entry,
        &change.pct,
        ["change_pct", "low_pct", "high_pct"],
    );
    entry
}

fn point(history: &History, point: &Point) -> Value {
    let mut entry = json!({
        "between": point.between,
        "series": point.changes.iter().map(|(series, _)| series).collect::<Vec<_>>(),
        "most_series": history.is_common(point),
        "differences": point.differences,
    });
    if let Some(said) = &point.machine {
        entry["machine_differences"] = json!(said);
    }
    entry
}

fn fill(entry: &mut Value, interval: &Interval, names: [&str; 3]) {
    let values = [Some(interval.value), interval.low, interval.high];
    for (name, value) in names.into_iter().zip(values) {
        if let Some(value) = value {
            entry[name] = json!(value);
        }
    }
}
