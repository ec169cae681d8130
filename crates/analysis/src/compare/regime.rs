//! Comparing runs of one regime: whether packets are full changes rates and costs more than most causes, so the share
//! of each regime is compared, and all else among runs of a regime that both sides have.

use super::state::{Executions, used};
use crate::cells::RunRow;
use crate::metrics::{FULL_PACKETS, Metric, metric};

/// The least difference of the time with full packets that is told, in percentage points.
const POINTS: f64 = 10.0;

/// Whether packets are full in the runs that are compared; absent where all runs are, because they are of one
/// regime, or because no regime is on both sides.
fn in_common(old: &[&RunRow], new: &[&RunRow]) -> Option<bool> {
    let least = |is_full: bool| {
        let count = |rows: &[&RunRow]| {
            let of = rows.iter();
            of.filter(|row| row.has_full_packets == Some(is_full))
                .count()
        };
        count(old).min(count(new))
    };
    let mut all = old.iter().chain(new);
    let first = all.next()?.has_full_packets;
    all.any(|row| row.has_full_packets != first).then_some(())?;
    let is_full = least(true) > least(false);
    (least(is_full) > 0).then_some(is_full)
}

/// The runs with or without full packets, as [`in_common`] says.
fn of<'a>(rows: &[&'a RunRow], common: Option<bool>) -> Vec<&'a RunRow> {
    let is_of = |row: &&RunRow| common.is_none() || row.has_full_packets == common;
    rows.iter().copied().filter(is_of).collect()
}

/// The runs of both sides that are compared by a metric.
pub(super) fn of_one_regime<'a>(
    sides: [&[&'a RunRow]; 2],
    metric: &Metric,
) -> [Vec<&'a RunRow>; 2] {
    let common = match metric.name == FULL_PACKETS {
        true => None,
        false => in_common(sides[0], sides[1]),
    };
    sides.map(|rows| of(rows, common))
}

/// The runs of the regime that both sides have; all where they are of one.
pub(super) fn of_common<'a>(cell: &Executions<'a>) -> Executions<'a> {
    let [old, new] = cell.each_ref().map(|side| side.concat());
    let common = in_common(&old, &new);
    cell.each_ref()
        .map(|side| side.iter().map(|runs| of(runs, common)).collect())
}

/// `1024 · TCP: packets were full for 20 % of the time before and 80 % after; rates and costs are compared among runs
/// with full packets`; absent where the time hardly differs.
pub(super) fn remark(name: &str, old: &[&RunRow], new: &[&RunRow]) -> Option<String> {
    let (old, new) = (&used(old), &used(new));
    let full = |rows: &[&RunRow]| {
        let metric = metric(FULL_PACKETS)?;
        let of = rows.iter();
        let shares: Vec<f64> = of.filter_map(|row| row.value(metric)).collect();
        (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
    };
    let (before, after) = (full(old)?, full(new)?);
    if (before - after).abs() < POINTS {
        return None;
    }
    let among = match in_common(old, new) {
        Some(true) => "rates and costs are compared among runs with full packets",
        Some(false) => "rates and costs are compared among runs without full packets",
        None => "changes of rates and costs are changes of this as well",
    };
    Some(format!(
        "{name}: packets were full for {before:.0} % of the time before and {after:.0} % after; {among}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Status;
    use crate::metrics::Figures;

    fn row(is_full: Option<bool>, pct: f64) -> RunRow {
        RunRow {
            figures: Figures::of(|known| (known.name == FULL_PACKETS).then_some(pct)),
            has_full_packets: is_full,
            ..RunRow::new(0, 0, 0, Status::Used)
        }
    }

    #[test]
    fn runs_are_compared_within_a_regime_that_both_sides_have() {
        let (full, single) = (row(Some(true), 100.0), row(Some(false), 0.0));
        let old = [&single, &single, &single, &full];
        let new = [&full, &full, &single, &full];
        assert_eq!(in_common(&old, &new), Some(false));
        assert_eq!(in_common(&[&full], &new), Some(true));
        assert_eq!(in_common(&[&single], &[&full]), None);
        assert_eq!(in_common(&[&full], &[&full]), None);
        let said = remark("all", &old, &new).expect("the time differs");
        assert!(
            said.contains("for 25 % of the time before and 75 % after"),
            "{said}"
        );
        assert_eq!(remark("all", &old, &old), None);
    }
}
