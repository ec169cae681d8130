//! The values of a metric in a cell, execution by execution.

use bitcost_stats::{Interval, median};

use super::speed::{Cells, Speed};
use crate::cells::RunRow;
use crate::compare::{matched, rows_by_cell, used};
use crate::findings::Findings;
use crate::metrics::Metric;

/// Standard errors in a 95 % interval.
const WIDTH: f64 = 2.0 * 1.96;

/// For each cell of the newest execution its place in each execution.
pub(super) type Places = Vec<Vec<Option<usize>>>;

/// The cells of the newest execution, which is the last, in the others; and of each how many cells only one of both has.
pub(super) fn places(executions: &[&Findings]) -> (Places, Vec<usize>) {
    let Some((newest, others)) = executions.split_last() else {
        return (Vec::new(), Vec::new());
    };
    let count = newest.summary.cells.len();
    let mut places: Places = vec![Vec::with_capacity(executions.len()); count];
    let mut alone = Vec::with_capacity(others.len());
    for other in others {
        let found = matched(other, newest);
        let mut of_other = vec![None; count];
        for (theirs, newests) in found.pairs {
            of_other[newests] = Some(theirs);
        }
        places
            .iter_mut()
            .zip(of_other)
            .for_each(|(all, place)| all.push(place));
        alone.push(found.unmatched.len());
    }
    for (place, all) in places.iter_mut().enumerate() {
        all.push(Some(place));
    }
    (places, alone)
}

/// The used runs of each cell, of the regime that its figures are of.
pub(super) fn cells<'a>(executions: &[&'a Findings], places: &Places) -> Vec<Cells<'a>> {
    let rows: Vec<Vec<Vec<&RunRow>>> = executions
        .iter()
        .map(|execution| {
            let rows = rows_by_cell(execution);
            let of_main = |rows: &Vec<&'a RunRow>| {
                let used = used(rows).into_iter();
                used.filter(|row| row.is_of_main_regime).collect()
            };
            rows.iter().map(of_main).collect()
        })
        .collect();
    let of_cell = |places: &Vec<Option<usize>>| {
        let runs = rows.iter().zip(places);
        runs.map(|(rows, place)| place.map_or(Vec::new(), |place| rows[place].clone()))
            .collect()
    };
    places.iter().map(of_cell).collect()
}

pub(super) fn medians(
    executions: &[&Findings],
    places: &[Option<usize>],
    metric: &Metric,
) -> Vec<Option<Interval>> {
    let of = |(execution, place): (&&Findings, &Option<usize>)| {
        execution.summary.cells[(*place)?]
            .figure(metric.name)
            .copied()
    };
    executions.iter().zip(places).map(of).collect()
}

/// The logarithms of the medians at the same speed, of the executions that have runs, with the numbers of
/// these executions; and their typical standard error. Absent where a value is not above 0.
pub(super) fn logarithms(
    (number, cell): (usize, &Cells),
    medians: &[Option<Interval>],
    metric: &Metric,
    speed: &Speed,
) -> Option<(Vec<usize>, bitcost_stats::Series)> {
    let mut series = bitcost_stats::Series::default();
    let (mut executions, mut squares, mut bounded) = (Vec::new(), 0.0, 0.0_f64);
    for (execution, (runs, found)) in cell.iter().zip(medians).enumerate() {
        let Some(found) = found.filter(|_| !runs.is_empty()) else {
            continue;
        };
        if found.value <= 0.0 {
            return None;
        }
        let values: Vec<f64> = runs
            .iter()
            .filter_map(|run| speed.adjusted(number, run, metric))
            .collect();
        let Some(value) = median(&values) else {
            continue;
        };
        executions.push(execution);
        series.values.push(value);
        if let (Some(low), Some(high)) = (found.low.filter(|low| *low > 0.0), found.high) {
            squares += ((high / low).ln() / WIDTH).powi(2);
            bounded += 1.0;
        }
    }
    series.error = (squares / bounded.max(1.0)).sqrt();
    Some((executions, series))
}
