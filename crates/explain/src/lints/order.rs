//! Doubts about the order of runs: did the machine change while they were made?

use stats::trend;

use super::{Lint, Study};

/// A drift under this share over the whole execution is not told.
const DRIFT_MIN: f64 = 0.05;

/// How often no drift looks like one.
const CHANCE_MAX: f64 = 0.01;

/// Least number of runs of which a drift is told.
const RUNS_MIN: usize = 8;

/// Throughput, each run as a share of its cell's median, over the order of the runs.
pub fn drift(study: &Study) -> Vec<Lint> {
    let metric = "throughput_mbps";
    let mut points: Vec<(f64, f64)> = Vec::new();
    for cell in 0..study.cells.len() {
        let values: Vec<f64> = study.figures(cell).filter_map(|run| run.get(metric)).collect();
        let Some(median) = stats::median(&values).filter(|median| *median > 0.0) else { continue };
        if values.len() < 2 {
            continue;
        }
        points.extend(study.figures(cell).filter_map(|run| Some((run.run as f64, run.get(metric)? / median))));
    }
    let Some(found) = (points.len() >= RUNS_MIN).then(|| trend(&points, study.seed)).flatten() else {
        return Vec::new();
    };
    let numbers = || points.iter().map(|(number, _)| *number);
    let length = numbers().fold(0.0, f64::max) - numbers().fold(f64::MAX, f64::min);
    let change = found.slope * length;
    if found.chance >= CHANCE_MAX || change.abs() < DRIFT_MIN {
        return Vec::new();
    }
    vec![Lint {
        name: "drift",
        cell: String::new(),
        found: format!(
            "{metric} drifted by {:+.0} % from the first run to the last (chance {:.3})",
            100.0 * change,
            found.chance
        ),
        remedy: "the order is random, so cells are still comparable; absolute figures are not: repeat it at another time",
    }]
}
