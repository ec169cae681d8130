//! What a run's two records say that cannot both be true. Such a record was changed, or is wrong.

use metrics::{PartRun, RunView, parts};
use model::record::{Counts, EndRecord};

/// The contradictions of a run, a sentence each.
///
/// Only totals of the whole run are compared, which hold whatever is on its way when the window begins or ends: no end had
/// counted more at a sample than at its end, and no more arrives than was sent.
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

/// Counters that are read while the run goes on.
const COUNTERS: [Counter; 3] =
    [("bytes", |counts| counts.bytes), ("messages", |counts| counts.messages), ("calls", |counts| counts.calls)];

/// The counters of the window's first and last sample, and of the whole run, rise.
fn samples(end: &EndRecord) -> Option<String> {
    let (first, last) = (&end.samples.first()?.counts, &end.samples.last()?.counts);
    let total = total(end)?;
    let (name, of) = COUNTERS.iter().find(|(_, of)| of(first) > of(last) || of(last) > of(&total))?;
    let (role, first, last, total) = (end.role.name(), of(first), of(last), of(&total));
    Some(format!(
        "the {role}'s record contradicts itself: {first} {name} at the window's begin, {last} at its end, {total} in the whole run"
    ))
}

/// What an end counted in the whole run; absent where the sum is no number.
fn total(end: &EndRecord) -> Option<Counts> {
    let (outside, measured) = (&end.counts.outside, &end.counts.measured);
    let is_sum = |(_, of): &Counter| of(outside).checked_add(of(measured)).is_some();
    COUNTERS.iter().all(is_sum).then(|| Counts {
        bytes: outside.bytes + measured.bytes,
        messages: outside.messages + measured.messages,
        calls: outside.calls + measured.calls,
        ..Counts::default()
    })
}

/// A stream's receiver has no more than was sent; of datagrams it may have some more than once.
fn received_more(part: &PartRun) -> Option<String> {
    let workload = part.conditions.workload;
    if workload.is_transactional() {
        return None;
    }
    let (sent, received) = (total(&part.sender)?, total(&part.receiver)?);
    let (what, sent, received) = match (workload.is_datagram(), part.receiver.sequence) {
        (false, _) => ("bytes", sent.bytes, received.bytes),
        (true, Some(sequence)) => ("datagrams", sent.messages.checked_add(sequence.duplicated)?, received.messages),
        (true, None) => return None,
    };
    (received > sent).then(|| format!("the records contradict each other: {received} {what} received, {sent} sent"))
}
