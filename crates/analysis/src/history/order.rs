//! The order of executions: by the time at which they began, as their logs have it.

use jiff::Timestamp;

use super::error::HistoryError;
use crate::findings::Findings;

/// The executions in order of time, and sentences on clocks that contradict it.
pub(super) fn in_order(
    executions: &[Findings],
) -> Result<(Vec<&Findings>, Vec<String>), HistoryError> {
    let mut timed = Vec::with_capacity(executions.len());
    for execution in executions {
        let at = &execution.summary.began_at;
        let began = at.parse().map_err(|_| HistoryError::NoTime {
            name: execution.name.clone(),
            at: at.clone(),
        })?;
        timed.push((began, execution));
    }
    timed.sort_by_key(|(began, _)| *began);
    let mut said: Vec<String> = executions.iter().filter_map(ran_backwards).collect();
    said.extend(
        timed
            .windows(2)
            .filter_map(|pair| overlap(&pair[0], &pair[1])),
    );
    Ok((
        timed.into_iter().map(|(_, execution)| execution).collect(),
        said,
    ))
}

/// The times at which its runs began, in their order.
fn runs(execution: &Findings) -> impl Iterator<Item = Timestamp> {
    let times = execution.summary.runs.iter();
    times.filter_map(|run| run.began_at.as_ref()?.parse().ok())
}

/// Whether a run began before its execution.
fn ran_backwards(execution: &Findings) -> Option<String> {
    let began: Timestamp = execution.summary.began_at.parse().ok()?;
    runs(execution).any(|at| at < began).then(|| {
        format!(
            "{}: a run began before the execution, so the clock ran backwards; its place in the order is the time recorded at its start",
            execution.name
        )
    })
}

/// Whether an execution began while the one before was still running.
fn overlap(before: &(Timestamp, &Findings), after: &(Timestamp, &Findings)) -> Option<String> {
    let (first, second) = (&before.1.name, &after.1.name);
    if before.0 == after.0 {
        return Some(format!(
            "{first} and {second} began at the same time; they are in the order in which they were named"
        ));
    }
    let last = runs(before.1).max()?;
    (after.0 < last).then(|| {
        format!(
            "{second} began before the last run of {first}: they ran at the same time, or a clock ran backwards between them; they are in the order of the recorded times"
        )
    })
}
