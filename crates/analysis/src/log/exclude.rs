//! Why a run with a result is left out of its cell.

use crate::metrics::{PartRun, RunView, cpu, parts, protocols_grown};
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{
    Counts, EndpointRecord, PhaseCounts, Sequence, ThreadKind, implausible,
};

use super::in_effect::of_offloads;

/// The reasons for which a run is left out, joined; absent if it may be used.
pub fn reason(run: &RunView) -> Option<String> {
    if run.interrupted.is_some() {
        // One endpoint's record may be what it reported before it was lost.
        let empty = nothing(run.sender, run.receiver);
        return (!empty.is_empty()).then(|| empty.join("; "));
    }
    let parts = parts(run);
    let segments = |part: &PartRun| segment_size(&part.sender, &part.conditions);
    let ends = [run.sender, run.receiver].into_iter();
    let mut reasons: Vec<String> = ends.flat_map(offloads).collect();
    reasons.extend(parts.iter().filter_map(segments));
    reasons.extend(parts.iter().filter_map(counts));
    reasons.extend(nothing(run.sender, run.receiver));
    reasons.extend(parts.iter().flat_map(contradictions));
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// True for a run whose result has nothing in it, so that another try may measure something.
pub fn nothing_measured(sender: &EndpointRecord, receiver: &EndpointRecord) -> bool {
    !nothing(sender, receiver).is_empty()
}

fn nothing(sender: &EndpointRecord, receiver: &EndpointRecord) -> Vec<String> {
    let mut reasons = Vec::new();
    let received = receiver.counts.measured;
    let sent = sender.counts.measured.bytes;
    // Workloads that only make connections carry no bytes.
    if received.bytes == 0 && (received.messages == 0 || sent > 0) {
        let why = if had_no_cpu(sender) {
            ": other programs kept the sender's thread off its CPU"
        } else if had_only_fragments(receiver) {
            ": only fragments of datagrams arrived, and no datagram was complete; use messages that fit the MTU (-l 1472 for IPv4 over Ethernet)"
        } else {
            ""
        };
        reasons.push(format!(
            "nothing received in the measured window ({sent} bytes sent){why}"
        ));
    }
    if receiver.window_end_ns <= receiver.window_start_ns
        || sender.window_end_ns <= sender.window_start_ns
    {
        reasons.push("the measured window is empty".into());
    }
    reasons
}

/// True if the traffic's threads existed during the whole window and got no CPU time in it.
fn had_no_cpu(end: &EndpointRecord) -> bool {
    cpu::of_threads(end, ThreadKind::Traffic) == Some(0.0)
}

/// True if IP fragments reached the host, and it made no packet of any of them.
fn had_only_fragments(receiver: &EndpointRecord) -> bool {
    let grew = |names: [&str; 2]| {
        let mut grown = names.iter().map(|name| protocols_grown(receiver, name));
        grown.any(|count| count > Some(0.0))
    };
    grew(["Ip.ReasmReqds", "Ip6.ReasmReqds"]) && !grew(["Ip.ReasmOKs", "Ip6.ReasmOKs"])
}

fn offloads(end: &EndpointRecord) -> Vec<String> {
    of_offloads(&end.offloads)
        .map(|sentence| format!("{} {sentence}", end.role.name()))
        .collect()
}

/// Why the received datagrams cannot be those that were sent. An agent gives up such a run itself;
/// this check is for logs that others made.
fn counts(part: &PartRun) -> Option<String> {
    let of = |sent: &PhaseCounts, received: &PhaseCounts, sequence: Option<&Sequence>| {
        let sent = [sent.measured.messages, sent.total().messages];
        implausible(sent, received, sequence)
    };
    part.conditions.workload.numbers_datagrams().then_some(())?;
    let (sender, receiver) = (&part.sender, &part.receiver);
    let mut flows = sender.flows.iter().zip(&receiver.flows);
    of(&sender.counts, &receiver.counts, receiver.sequence.as_ref()).or_else(|| {
        flows.find_map(|(sent, found)| of(&sent.counts, &found.counts, found.sequence.as_ref()))
    })
}

fn segment_size(sender: &EndpointRecord, conditions: &Conditions) -> Option<String> {
    let asked = conditions.segment_bytes()?;
    let actual = sender.tcp_info.as_ref()?.snd_mss_bytes?;
    (actual != asked)
        .then(|| format!("user data per segment: requested {asked} bytes, in effect {actual}"))
}

/// Contradictions in a part's two records, which cannot both be true, a sentence each: such a record was changed, or is
/// wrong.
///
/// Only totals of the whole run are compared. They hold whatever is in flight when the window starts or ends: no endpoint
/// had counted more at a sample than at its end, and no more arrives than was sent.
fn contradictions(part: &PartRun) -> Vec<String> {
    let ends = [&part.sender, &part.receiver].into_iter();
    ends.filter_map(samples)
        .chain(received_more(part))
        .collect()
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

/// Checks that the receiver of a stream has no more than was sent; for datagrams, [`counts`] does.
fn received_more(part: &PartRun) -> Option<String> {
    part.conditions.workload.is_byte_stream().then_some(())?;
    let (sent, received) = (total(&part.sender)?.bytes, total(&part.receiver)?.bytes);
    (received > sent).then(|| {
        format!("the records contradict each other: {received} bytes received, {sent} sent")
    })
}

#[cfg(test)]
mod tests {
    use bitcost_model::record::Sample;

    use super::*;

    #[test]
    fn nothing_but_fragments_is_said() {
        let sample = |at_ns, fragments| Sample {
            at_ns,
            protocols: [("Ip.ReasmReqds".to_owned(), fragments)].into(),
            ..Sample::default()
        };
        let mut receiver = EndpointRecord {
            samples: vec![sample(1, 5), sample(2, 5)],
            ..EndpointRecord::default()
        };
        let said =
            |receiver: &EndpointRecord| nothing(&EndpointRecord::default(), receiver).concat();
        assert!(!said(&receiver).contains("fragment"));
        receiver.samples[1] = sample(2, 7);
        assert!(said(&receiver).contains("only fragments of datagrams arrived"));
    }
}
