//! Contradictions in a run's two records, which cannot both be true. Such a record was changed, or
//! is wrong.

use crate::metrics::{PartRun, RunView, parts};
use bitcost_model::record::{Counts, EndpointRecord};

/// The contradictions of a run, a sentence each.
///
/// Only totals of the whole run are compared. They hold whatever is in flight when the window
/// starts or ends: no endpoint had counted more at a sample than at its end, and no more arrives
/// than was sent.
pub(crate) fn contradictions(run: &RunView) -> Vec<String> {
    parts(run).iter().flat_map(of_part).collect()
}

fn of_part(part: &PartRun) -> Vec<String> {
    let ends = [&part.sender, &part.receiver];
    let mut found: Vec<String> = ends.into_iter().filter_map(samples).collect();
    found.extend(received_more(part));
    found
}

/// A counter: its name, and how it is read.
type Counter = (&'static str, fn(&Counts) -> u64);

const COUNTERS: [Counter; 3] = [
    ("bytes", |counts| counts.bytes),
    ("messages", |counts| counts.messages),
    ("calls", |counts| counts.calls),
];

/// Checks that the counters rise from the window's first sample to its last, and to the whole run.
fn samples(end: &EndpointRecord) -> Option<String> {
    let (first, last) = (&end.samples.first()?.counts, &end.samples.last()?.counts);
    let total = total(end)?;
    let (name, of) = COUNTERS
        .iter()
        .find(|(_, of)| of(first) > of(last) || of(last) > of(&total))?;
    let (role, first, last, total) = (end.role.name(), of(first), of(last), of(&total));
    Some(format!(
        "the {role}'s record contradicts itself: {first} {name} at the window's start, {last} at its end, {total} in the whole run"
    ))
}

/// What an endpoint counted in the whole run; absent where a sum overflows.
fn total(end: &EndpointRecord) -> Option<Counts> {
    let (outside, measured) = (&end.counts.outside, &end.counts.measured);
    let is_sum = |(_, of): &Counter| of(outside).checked_add(of(measured)).is_some();
    COUNTERS.iter().all(is_sum).then(|| Counts {
        bytes: outside.bytes + measured.bytes,
        messages: outside.messages + measured.messages,
        calls: outside.calls + measured.calls,
        ..Counts::default()
    })
}

/// Checks that a receiver has no more than was sent, where datagrams may have arrived more than
/// once.
fn received_more(part: &PartRun) -> Option<String> {
    let workload = part.conditions.workload;
    if workload.is_transactional() {
        return None;
    }
    let (sent, received) = (total(&part.sender)?, total(&part.receiver)?);
    let (what, sent, received) = match (workload.is_datagram(), part.receiver.sequence) {
        (false, _) => ("bytes", sent.bytes, received.bytes),
        (true, Some(sequence)) => (
            "datagrams",
            sent.messages.checked_add(sequence.duplicated)?,
            received.messages,
        ),
        (true, None) => return None,
    };
    (received > sent).then(|| {
        format!("the records contradict each other: {received} {what} received, {sent} sent")
    })
}
