//! What differs between the machines of two executions during their runs: their speed, and how far
//! the endpoints' CPUs were from each other.

use std::borrow::Borrow;

use bitcost_model::constants::ConstantFigure;
use bitcost_stats::{Scale, change, median, two_modes};

use super::change::{OTHER_PROGRAM_RATIO, pct};
use super::found::THRESHOLD_PCT;
use super::state::ONE_DISTANCE;
use crate::cells::RunRow;
use crate::findings::Findings;
use crate::metrics::{CORE_TO_CORE, SPEED, metric};

/// The least difference between the shares of runs in which a CPU was moved.
const SHARE: f64 = 0.1;

/// The values of both sides, the old one first.
type Sides = [Vec<f64>; 2];

/// The runs of a cell on both sides, the old one first.
pub(super) type Runs<'a> = [Vec<&'a RunRow>; 2];

/// What differs between the sides of these names, a sentence each, by the runs of the cells that both
/// have.
pub(crate) fn machine_differences(
    names: [&str; 2],
    executions: &[impl Borrow<Findings>],
    cells: &[Runs],
) -> Vec<String> {
    let machine = match executions.iter().any(|one| has_two_machines(one.borrow())) {
        true => "the machines were",
        false => "the machine was",
    };
    let seed = executions
        .first()
        .map_or(0, |first| first.borrow().summary.seed);
    let speed = speed(&values(cells, SPEED), names, machine);
    let distance = distance(&values(cells, CORE_TO_CORE), names, seed);
    speed.into_iter().chain(distance).collect()
}

fn has_two_machines(execution: &Findings) -> bool {
    let ends = &execution.summary.ends;
    matches!(&ends[..], [first, second] if first.host.is_apart_from(&second.host))
}

fn values(cells: &[Runs], name: &str) -> Vec<Sides> {
    let Some(metric) = metric(name) else {
        return Vec::new();
    };
    let of = |runs: &Vec<&RunRow>| {
        let values = runs.iter().map(|run| run.value(metric));
        values.flatten().collect()
    };
    cells.iter().map(|cell| cell.each_ref().map(of)).collect()
}

fn pooled(cells: &[Sides]) -> Sides {
    [0, 1].map(|side| cells.iter().flat_map(|cell| cell[side].clone()).collect())
}

/// The medians of both sides, and new ÷ old of what is left of the values without their cells'
/// levels; absent where the change is small, or may be none.
fn shift(cells: &[Sides]) -> Option<([f64; 2], f64)> {
    let relative = |cell: &Sides| -> Option<Sides> {
        let level = median(&cell.concat())?;
        let of = |side: &Vec<f64>| side.iter().map(|value| value / level).collect();
        cell.iter()
            .all(|side| !side.is_empty())
            .then(|| [of(&cell[0]), of(&cell[1])])
    };
    let relative: Vec<Sides> = cells.iter().filter_map(relative).collect();
    let [old, new] = pooled(&relative);
    let found = change(&old, &new, Scale::Ratio)?.interval;
    let is_clear = found.low? > 1.0 || found.high? < 1.0;
    let [old, new] = pooled(cells);
    let medians = [median(&old)?, median(&new)?];
    (is_clear && pct(found.value).abs() >= THRESHOLD_PCT).then_some((medians, found.value))
}

/// Where the fixed loop took longer on one side.
fn speed(cells: &[Sides], [old, new]: [&str; 2], machine: &str) -> Option<String> {
    let ([was, is], ratio) = shift(cells)?;
    let ((slow, more), (fast, less)) = if ratio > 1.0 {
        ((new, is), (old, was))
    } else {
        ((old, was), (new, is))
    };
    let times = ratio.max(ratio.recip());
    let cause = if times > OTHER_PROGRAM_RATIO {
        "it was another build of bitcost, another processor or a slower machine".to_owned()
    } else {
        format!("{machine} slower")
    };
    let longer = pct(times);
    let [more, less] = [more, less].map(|us| ConstantFigure::words(1000.0 * us));
    Some(format!(
        "the fixed loop took {longer:.0} % longer in {slow} (median {more}) than in {fast} ({less}): {cause}"
    ))
}

/// Where a cache line took longer between the endpoints' CPUs on one side, or longer in more runs.
fn distance(cells: &[Sides], [old, new]: [&str; 2], seed: u64) -> Option<String> {
    const TRIP: &str = "a cache line's round trip between the endpoints' CPUs took";
    const APART: &str =
        "the CPUs were farther apart, as where a hypervisor moves a CPU to other cores";
    let sides = pooled(cells);
    let runs = sides.each_ref().map(Vec::len);
    let Some(groups) = groups(&sides.concat(), seed) else {
        let ([was, is], _) = shift(cells)?;
        let [was, is] = [was, is].map(ConstantFigure::words);
        return Some(format!("{TRIP} {was} in {old} and {is} in {new}"));
    };
    let was_far = groups.far.iter().filter(|run| **run < runs[0]).count();
    let far = [was_far, groups.far.len() - was_far];
    let [near_ns, far_ns] = [groups.near_ns, groups.far_ns].map(ConstantFigure::words);
    let share = |side: usize| far[side] as f64 / runs[side] as f64;
    match far {
        _ if (share(0) - share(1)).abs() < SHARE || runs.contains(&0) => None,
        [0, all] if all == runs[1] => Some(format!(
            "{TRIP} {near_ns} in {old} and {far_ns} in {new}: {APART}"
        )),
        [all, 0] if all == runs[0] => Some(format!(
            "{TRIP} {far_ns} in {old} and {near_ns} in {new}: {APART}"
        )),
        [was, is] => Some(format!(
            "{TRIP} {far_ns} instead of {near_ns} in {was} of {} runs in {old} and in {is} of {} in {new}: {APART}",
            runs[0], runs[1]
        )),
    }
}

/// Runs in two groups, by the distance of the CPUs.
struct Groups {
    /// The indices of the runs in which the CPUs were farther apart.
    far: Vec<usize>,
    /// The median of those runs.
    far_ns: f64,
    /// The median of the others.
    near_ns: f64,
}

/// The groups of these round trips; absent where they are one group.
fn groups(trips_ns: &[f64], seed: u64) -> Option<Groups> {
    let logarithms: Vec<f64> = trips_ns.iter().map(|ns| ns.ln()).collect();
    let modes = two_modes(&logarithms, seed)?;
    let of = |runs: &[usize]| median(&runs.iter().map(|run| trips_ns[*run]).collect::<Vec<_>>());
    let (near_ns, far_ns) = (of(&modes.low)?, of(&modes.high)?);
    (far_ns > ONE_DISTANCE * near_ns).then_some(Groups {
        far: modes.high,
        far_ns,
        near_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 2] = ["OLD", "NEW"];

    /// Values that spread by 2 % around this one.
    fn around(value: f64, count: u32) -> Vec<f64> {
        let spread = |run: u32| value * (0.99 + f64::from(run * 7 % 11) / 500.0);
        (0..count).map(spread).collect()
    }

    /// Round trips of 366 ns in the first runs, and of 88 ns in the others.
    fn trips(far: u32, near: u32) -> Vec<f64> {
        [around(366.0, far), around(88.0, near)].concat()
    }

    #[test]
    fn the_slower_machine_is_named_whatever_the_load_of_its_cells() {
        let old = || [around(4.5, 10), around(2.25, 4)];
        let new = || [around(5.22, 10), around(2.61, 4)];
        let cells = |was: [Vec<f64>; 2], is: [Vec<f64>; 2]| -> Vec<Sides> {
            was.into_iter().zip(is).map(|(was, is)| [was, is]).collect()
        };
        let said = speed(&cells(old(), new()), NAMES, "the machine was");
        assert_eq!(
            said.as_deref(),
            Some(
                "the fixed loop took 16 % longer in NEW (median 5.19 µs) than in OLD (4.48 µs): the machine was slower"
            )
        );
        let said = speed(&cells(new(), old()), NAMES, "the machines were").unwrap_or_default();
        assert!(
            said.contains("longer in OLD (median 5.19 µs) than in NEW"),
            "{said}"
        );
        assert!(said.ends_with(": the machines were slower"), "{said}");
        let debug = cells(old(), [around(72.0, 10), around(36.0, 4)]);
        let said = speed(&debug, NAMES, "the machine was").unwrap_or_default();
        assert!(said.contains("another build of bitcost"), "{said}");
        // A cell that only one side measured says nothing of the machine.
        let [loaded, idle] = old();
        let alone = cells([loaded.clone(), Vec::new()], [loaded, idle]);
        assert_eq!(speed(&alone, NAMES, "the machine was"), None);
    }

    #[test]
    fn runs_with_a_moved_cpu_are_counted() {
        let said = |old, new| distance(&[[old, new]], NAMES, 1);
        let cause = "the CPUs were farther apart, as where a hypervisor moves a CPU to other cores";
        assert_eq!(
            said(trips(3, 37), trips(21, 19)),
            Some(format!(
                "a cache line's round trip between the endpoints' CPUs took 366 ns instead of 88 ns in 3 of 40 runs in OLD and in 21 of 40 in NEW: {cause}"
            ))
        );
        assert_eq!(
            said(trips(0, 10), trips(10, 0)),
            Some(format!(
                "a cache line's round trip between the endpoints' CPUs took 88 ns in OLD and 366 ns in NEW: {cause}"
            ))
        );
        assert_eq!(said(trips(4, 36), trips(5, 35)), None, "nearly as often");
        assert_eq!(said(Vec::new(), trips(5, 35)), None, "an older log");
    }

    #[test]
    fn a_round_trip_that_changed_a_little_has_no_cause() {
        let said = |ns| distance(&[[around(88.0, 10), around(ns, 10)]], NAMES, 1);
        assert_eq!(
            said(96.8).as_deref(),
            Some(
                "a cache line's round trip between the endpoints' CPUs took 88 ns in OLD and 97 ns in NEW"
            )
        );
        assert_eq!(said(89.0), None);
    }
}
