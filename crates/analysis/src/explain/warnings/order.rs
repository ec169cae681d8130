//! Warnings about the order of runs: whether the machine changed during them.

use bitcost_stats::trend;

use super::found::{Study, Warning};

/// A drift below this share over the whole execution is not reported.
const DRIFT_MIN: f64 = 0.05;

/// The highest accepted probability that runs without a drift look like one.
const CHANCE_MAX: f64 = 0.01;

/// Least number of runs for which a drift is reported.
const RUNS_MIN: usize = 8;

/// A drift of the throughput, each run as a share of its cell's median, over the order of the runs.
pub fn drift(study: &Study) -> Vec<Warning> {
    let metric = "throughput_mbps";
    let mut points: Vec<(f64, f64)> = Vec::new();
    for cell in 0..study.cells.len() {
        let values: Vec<f64> = study
            .figures(cell)
            .filter_map(|run| run.get(metric))
            .collect();
        let Some(median) = bitcost_stats::median(&values).filter(|median| *median > 0.0) else {
            continue;
        };
        if values.len() < 2 {
            continue;
        }
        points.extend(
            study
                .figures(cell)
                .filter_map(|run| Some((run.run as f64, run.get(metric)? / median))),
        );
    }
    let Some(found) = (points.len() >= RUNS_MIN)
        .then(|| trend(&points, study.seed))
        .flatten()
    else {
        return Vec::new();
    };
    let numbers = || points.iter().map(|(number, _)| *number);
    let length = numbers().fold(0.0, f64::max) - numbers().fold(f64::MAX, f64::min);
    let change = found.slope * length;
    if found.chance >= CHANCE_MAX || change.abs() < DRIFT_MIN {
        return Vec::new();
    }
    vec![Warning {
        name: "drift",
        weight: change.abs(),
        found: format!(
            "{metric} drifted by {:+.0} % from the first run to the last (p {:.3})",
            100.0 * change,
            found.chance
        ),
        remedy: "the order is random, so cells are still comparable; absolute figures are not: repeat it at another time",
        ..Warning::default()
    }]
}
