//! The changes from the executions of one side to those of the other: of every cell, and of all cells together.

use bitcost_stats::{
    Effect, Estimate, Interval, Point, Prior, Scale, Sides, duet_change, duet_change_of_cells,
    effects,
};

use super::change::{
    Change, OTHER_PROGRAM_RATIO, Pairing, RUNS, Shift, change_of_values, duet_values, pct,
};
use super::regime::of_common;
use super::state::{Executions, in_common, states};
use super::verdict::Verdict;
use crate::cells::RunRow;
use crate::metrics::{Better, FULL_PACKETS, Metric, SPEED, metric};

/// What most cells of a metric have in common.
#[derive(Clone, Debug)]
pub struct Together {
    /// The metric.
    pub metric: &'static Metric,
    /// The mean change of the cells.
    pub shift: Shift,
    /// What the change of the CPUs' speed explains in addition, in per cent.
    pub by_speed_pct: f64,
    /// The number of cells, and how many of them change in this direction.
    pub cells: (usize, usize),
    /// The probability of a mean change at least this clear where there is none.
    pub chance: Option<f64>,
    /// Better, worse, or changed; [`Verdict::CannotTell`] where it does not hold among all changes.
    pub verdict: Verdict,
}

/// What was found of all cells.
pub(super) struct Found {
    /// The changes of each cell.
    pub cells: Vec<Vec<Change>>,
    /// Those of all cells together.
    pub together: Vec<Together>,
    /// Whether the runs of any cell were made in a state that the sides have in common; true without a cell.
    pub has_common_state: bool,
}

/// The changes of these metrics, where the sides' CPUs differ by `unexplained` in addition to what the loop tells.
pub(super) fn changes<'a>(
    cells: &[Executions<'a>],
    metrics: &[&'static Metric],
    unexplained: f64,
    threshold_pct: f64,
) -> Found {
    let states = states(cells.iter().flatten().flatten().flatten().copied());
    let of_states = |cells: &[Executions<'a>]| -> Vec<Option<Executions<'a>>> {
        cells.iter().map(|cell| in_common(cell, &states)).collect()
    };
    let of_regime: Vec<Executions> = cells.iter().map(of_common).collect();
    let (all, chosen) = (of_states(cells), of_states(&of_regime));
    let mut found = Found {
        cells: vec![Vec::new(); cells.len()],
        together: Vec::new(),
        has_common_state: cells.is_empty() || chosen.iter().any(Option::is_some),
    };
    for metric in metrics {
        let sides = match metric.name == FULL_PACKETS {
            true => (cells, &all[..]),
            false => (&of_regime[..], &chosen[..]),
        };
        let (changes, together) = of_metric(sides, metric, (unexplained, threshold_pct));
        for (all, change) in found.cells.iter_mut().zip(changes) {
            all.extend(change);
        }
        found.together.extend(together);
    }
    found
}

type OfMetric = (Vec<Option<Change>>, Option<Together>);

fn of_metric(
    (cells, chosen): (&[Executions], &[Option<Executions>]),
    metric: &'static Metric,
    (unexplained, threshold_pct): (f64, f64),
) -> OfMetric {
    let has_speed = has_speed(chosen, metric);
    let nothing = || [Vec::new(), Vec::new()];
    let points = |cell: &Option<Executions>| {
        let cell = cell.as_ref();
        cell.and_then(|cell| points(cell, metric, has_speed))
            .unwrap_or_else(nothing)
    };
    let sides: Vec<Sides> = chosen.iter().map(points).collect();
    let found = effects(&sides, prior(metric), unexplained);
    let changes: Vec<Option<Change>> = (cells.iter().zip(chosen))
        .zip(&found.cells)
        .map(|((all, chosen), effect)| match chosen {
            Some(cell) => of_cell(cell, metric, effect.as_ref(), threshold_pct),
            None => of_cell(all, metric, None, threshold_pct).map(Change::not_comparable),
        })
        .collect();
    let together = found
        .common
        .map(|effect| together(metric, &effect, &found.cells, threshold_pct));
    (changes, together)
}

fn of_cell(
    cell: &Executions,
    metric: &'static Metric,
    effect: Option<&Effect>,
    threshold_pct: f64,
) -> Option<Change> {
    let [old, new] = cell.each_ref().map(|side| {
        let rows = side.iter().flatten();
        rows.filter_map(|row| Some((row.block, row.value(metric)?)))
            .collect::<Vec<_>>()
    });
    let mut change = change_of_values((&old, &new), metric, Pairing::Apart, threshold_pct)?;
    if let (Some(effect), Some(Shift::Ratio(_))) = (effect, change.shift)
        && change.runs.0.min(change.runs.1) >= RUNS
    {
        change.of_executions(effect, (&old, &new), threshold_pct);
    }
    Some(change)
}

/// A slower machine makes a figure worse, by at most as much as it is slower.
fn prior(metric: &Metric) -> Prior {
    match metric.better {
        Better::Higher => (-0.5, 0.5),
        Better::Lower => (0.5, 0.5),
        Better::Neither => (0.0, 0.5),
    }
}

/// Whether every run that has the metric has the speed of its CPUs, measured by the same loop.
fn has_speed(cells: &[Option<Executions>], of: &Metric) -> bool {
    let rows = cells.iter().flatten().flatten().flatten().flatten();
    let mut speeds = rows
        .filter(|row| row.value(of).is_some())
        .map(|row| speed(row));
    let Some(Some(first)) = speeds.next() else {
        return false;
    };
    let range = speeds.try_fold((first, first), |(least, most), speed| {
        speed.map(|speed| (speed.min(least), speed.max(most)))
    });
    range.is_some_and(|(least, most)| most < OTHER_PROGRAM_RATIO * least)
}

/// The time of the fixed loop.
fn speed(row: &RunRow) -> Option<f64> {
    row.value(metric(SPEED)?).filter(|speed| *speed > 0.0)
}

/// The logarithms of speed and value of each run; absent where a value has none.
fn points(cell: &Executions, metric: &Metric, has_speed: bool) -> Option<Sides> {
    let point = |row: &&RunRow| -> Option<Option<Point>> {
        let value = row.value(metric)?;
        let speed = if has_speed { speed(row)? } else { 1.0 };
        Some((value > 0.0).then(|| (speed.ln(), value.ln())))
    };
    let side = |side: &Vec<Vec<&RunRow>>| -> Option<Vec<Vec<Point>>> {
        let runs = |runs: &Vec<&RunRow>| runs.iter().filter_map(point).collect::<Option<Vec<_>>>();
        side.iter().map(runs).collect()
    };
    Some([side(&cell[0])?, side(&cell[1])?])
}

fn together(
    metric: &'static Metric,
    effect: &Effect,
    cells: &[Option<Effect>],
    threshold_pct: f64,
) -> Together {
    let cells = cells.iter().flatten().map(|cell| cell.estimate.interval);
    Together {
        by_speed_pct: pct(effect.explained),
        ..Together::of(metric, effect.estimate, cells, threshold_pct)
    }
}

/// What the cells, each with the runs of both sides in pairs, have in common.
pub(super) fn duet_together(
    cells: &[(&[&RunRow], &[&RunRow])],
    metric: &'static Metric,
    threshold_pct: f64,
) -> Option<Together> {
    let pairs: Vec<_> = (cells.iter())
        .map(|(old, new)| duet_values(old, new, metric))
        .collect();
    let mean = duet_change_of_cells(&pairs)?;
    let of_cells = (pairs.iter())
        .filter_map(|pairs| duet_change(pairs, Scale::Ratio))
        .map(|cell| cell.interval);
    Some(Together::of(metric, mean, of_cells, threshold_pct))
}

impl Together {
    /// A mean change, and the changes of the cells, as ratios.
    pub(super) fn of(
        metric: &'static Metric,
        mean: Estimate,
        cells: impl Iterator<Item = Interval>,
        threshold_pct: f64,
    ) -> Together {
        let shift = Shift::Ratio(mean.interval);
        let is_alike = |cell: Interval| (cell.value > 1.0) == (mean.interval.value > 1.0);
        let alike: Vec<bool> = cells.map(is_alike).collect();
        Together {
            metric,
            shift,
            by_speed_pct: 0.0,
            cells: (alike.len(), alike.iter().filter(|alike| **alike).count()),
            chance: mean.chance,
            verdict: Verdict::of(&shift.change(), metric.better, threshold_pct),
        }
    }
}
