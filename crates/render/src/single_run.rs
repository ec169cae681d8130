//! The figures of one run with their intervals, as text and as JSON.

use bitcost_analysis::explain::{Regimes, regimes};
use bitcost_analysis::metrics::{BETWEEN_RUNS, RunView, SingleRun, WITH_INTERVAL, metric};
use bitcost_analysis::statistics::Interval;
use serde_json::{Map, Value, json};

use crate::number;
use crate::progress::show_rate;

/// The two regimes of a run; absent where it has one.
pub(crate) fn two_regimes(run: &RunView) -> Option<Regimes> {
    Regimes::of(&[(1, regimes(run))])
}

/// A figure with its interval; absent where the run shows none, or had two regimes.
fn single_run(run: &RunView, name: &str) -> Option<SingleRun> {
    let found = bitcost_analysis::metrics::single_run(run, name)?;
    two_regimes(run).is_none().then_some(found)
}

/// `0.37 µs/KiB [0.27, 0.50]`: a figure with as many digits as its interval allows, `unit` after it;
/// with three and without brackets where one run shows no interval. Absent where it was not measured.
pub(crate) fn with_interval(run: &RunView, name: &str, unit: &str) -> Option<String> {
    let value = (metric(name)?.compute)(run)?;
    let unit = match unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    Some(match single_run(run, name) {
        Some(found) => known(&found.interval, &unit),
        None => format!("{}{unit}", number::plain(value)),
    })
}

fn known(interval: &Interval, unit: &str) -> String {
    let (value, bounds) = (number::known(interval), number::known_bounds(interval));
    format!("{value}{unit} {}", bounds.replace(' ', "\u{a0}"))
}

/// `12 Gbit/s [9, 16]`: the throughput in units of 10^3; without brackets where one run shows no
/// interval. Absent where it was not measured.
pub(crate) fn throughput(run: &RunView) -> Option<String> {
    const NAME: &str = "throughput_mbps";
    let mbps = (metric(NAME)?.compute)(run)?;
    let Some(found) = single_run(run, NAME) else {
        return Some(show_rate(mbps * 1e6));
    };
    let (scale, unit) = match mbps {
        mbps if mbps >= 1e3 => (1e-3, " Gbit/s"),
        mbps if mbps >= 1.0 => (1.0, " Mbit/s"),
        _ => (1e3, " kbit/s"),
    };
    Some(known(&found.interval.map(|value| value * scale), unit))
}

/// What the intervals of one run are made of; absent where no figure has one.
pub(crate) fn what_intervals_hold(run: &RunView) -> Option<String> {
    let found = WITH_INTERVAL
        .iter()
        .filter_map(|name| single_run(run, name));
    let within = found.map(|found| found.within_pct).reduce(f64::max)?;
    Some(format!(
        "{within:.0} % within this run; a factor of {BETWEEN_RUNS} assumed between runs"
    ))
}

/// By metric: `value`, `low` and `high`, `kind` (`single_run`), and of what the interval is made:
/// `within_run_pct` and the assumed `between_runs_factor`. Metrics without an interval have no key.
pub(crate) fn intervals_json(run: &RunView) -> Map<String, Value> {
    let entry = |name: &&str| {
        let found = single_run(run, name)?;
        let value = json!({
            "value": found.interval.value,
            "low": found.interval.low,
            "high": found.interval.high,
            "kind": "single_run",
            "within_run_pct": found.within_pct,
            "between_runs_factor": BETWEEN_RUNS,
        });
        Some(((*name).to_owned(), value))
    };
    WITH_INTERVAL.iter().filter_map(entry).collect()
}
