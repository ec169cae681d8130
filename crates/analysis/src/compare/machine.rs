//! Whether the machine was the same on both sides: how far the endpoints' CPUs were from each other, and how long
//! the fixed loop took.

use crate::cells::{RunRow, Status};
use crate::metrics::{CORE_TO_CORE, SPEED};

/// The ratio of the sides' means from which the machine may be the cause of a change.
const RATIO_LEAST: f64 = 1.2;

/// `the machine differed: the endpoints' CPUs were 44 ns from each other in old and 190 ns in new`; absent where
/// it did not, or was not measured on both sides.
pub(super) fn machine_remark<'a>(
    names: [&str; 2],
    sides: [impl Iterator<Item = &'a RunRow> + Clone; 2],
) -> Option<String> {
    let means = |metric: &str| -> Option<[f64; 2]> {
        let [old, new] = sides.each_ref().map(|rows| mean(rows.clone(), metric));
        let (old, new) = (old?, new?);
        (old.max(new) >= RATIO_LEAST * old.min(new)).then_some([old, new])
    };
    let [old, new] = names;
    let trips = means(CORE_TO_CORE).map(|[was, is]| {
        format!(
            "the endpoints' CPUs were {was:.0} ns from each other in {old} and {is:.0} ns in {new}"
        )
    });
    let loops = means(SPEED).map(|[was, is]| {
        format!("the fixed loop took {was:.2} µs in {old} and {is:.2} µs in {new}")
    });
    let found: Vec<String> = trips.into_iter().chain(loops).collect();
    (!found.is_empty()).then(|| {
        let differences = found.join(", and ");
        format!("the machine differed, which may be the cause of changes: {differences}")
    })
}

fn mean<'a>(rows: impl Iterator<Item = &'a RunRow>, metric: &str) -> Option<f64> {
    let used = rows.filter(|row| row.status == Status::Used);
    let times: Vec<f64> = used.filter_map(|row| row.figures.get(metric)).collect();
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    (mean > 0.0).then_some(mean)
}
