//! Which executions were made in the same state of the machine: how far the endpoints' CPUs were from each other.

use bitcost_stats::median;

use super::speed::Cells;
use crate::findings::Findings;
use crate::metrics::{CORE_TO_CORE, metric};

/// Runs whose round trips differ by less than this factor were made at one distance.
const ONE_DISTANCE: f64 = 1.5;

/// For each execution, why its runs are of another state than those of most executions. Distances are relative to those
/// of the same cell in all executions, because a study may give its cells different CPUs.
pub(super) fn other_states(executions: &[&Findings], cells: &[Cells]) -> Vec<Option<String>> {
    let none = vec![None; executions.len()];
    let Some(metric) = metric(CORE_TO_CORE) else {
        return none;
    };
    let by_cell: Vec<Vec<Option<f64>>> = cells
        .iter()
        .map(|cell| {
            let trips = cell.iter().map(|runs| {
                let values = runs.iter().filter_map(|run| run.used_value(metric));
                median(&values.filter(|trip| *trip > 0.0).collect::<Vec<_>>())
            });
            trips.collect()
        })
        .collect();
    let relative = |execution: usize| {
        let of_cell = |trips: &Vec<Option<f64>>| {
            let usual = median(&trips.iter().flatten().copied().collect::<Vec<_>>())?;
            Some((trips[execution]? / usual, trips[execution]?))
        };
        let (ratios, trips): (Vec<f64>, Vec<f64>) = by_cell.iter().filter_map(of_cell).unzip();
        Some((median(&ratios)?, median(&trips)?))
    };
    let found: Vec<Option<(f64, f64)>> = (0..executions.len()).map(relative).collect();
    let Some((least, usual_ns)) = most(&found) else {
        return none;
    };
    let why = |(ratio, trip_ns): (f64, f64)| {
        let is_other = ratio < least || ratio >= least * ONE_DISTANCE;
        is_other.then(|| format!(
            "a cache line's round trip between the endpoints' CPUs took {trip_ns:.0} ns, and {usual_ns:.0} ns in most executions"
        ))
    };
    found.into_iter().map(|of| of.and_then(why)).collect()
}

/// The least relative distance of the class that has most executions, of classes of the same size the nearest, and the
/// median round trip of its executions.
fn most(found: &[Option<(f64, f64)>]) -> Option<(f64, f64)> {
    let mut known: Vec<(f64, f64)> = found.iter().flatten().copied().collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0));
    let class = |least: f64| {
        let of_class = known.iter();
        let of_class =
            of_class.filter(move |(ratio, _)| *ratio >= least && *ratio < least * ONE_DISTANCE);
        of_class.map(|(_, trip_ns)| *trip_ns).collect::<Vec<f64>>()
    };
    let classes = known.iter().rev().map(|(least, _)| (*least, class(*least)));
    let (least, trips) = classes.max_by_key(|(_, trips)| trips.len())?;
    Some((least, median(&trips)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_with_most_executions_is_the_state() {
        let of = |ratios: &[f64]| {
            let known: Vec<_> = ratios
                .iter()
                .map(|ratio| Some((*ratio, 44.0 * ratio)))
                .collect();
            most(&known).map(|(least, _)| least)
        };
        assert_eq!(of(&[8.0, 1.0, 1.1, 8.2, 0.95]), Some(0.95));
        assert_eq!(of(&[8.0, 1.0, 1.1, 8.2, 8.1]), Some(8.0));
        assert_eq!(of(&[8.0, 1.0]), Some(1.0));
        assert_eq!(most(&[None, None]), None);
    }
}
