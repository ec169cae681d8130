//! Why a run with a result has no place in its cell.

use metrics::{PartRun, RunView, parts};
use model::conditions::{Conditions, Workload};
use model::record::{EndRecord, FlowRecord, Sample, ThreadKind, implausible};

use crate::contradiction::contradictions;
use crate::in_force::of_offloads;

/// The reasons, joined; absent where the run may be used.
pub(crate) fn reason(run: &RunView) -> Option<String> {
    let mut reasons = offloads(run.sender);
    reasons.extend(offloads(run.receiver));
    reasons.extend(parts(run).iter().filter_map(|part| segment_size(&part.sender, &part.conditions)));
    reasons.extend(parts(run).iter().flat_map(counts));
    reasons.extend(nothing(run.sender, run.receiver));
    reasons.extend(contradictions(run));
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// True of a run that has a result with nothing in it, so that another try may have more.
pub fn nothing_measured(sender: &EndRecord, receiver: &EndRecord) -> bool {
    !nothing(sender, receiver).is_empty()
}

fn nothing(sender: &EndRecord, receiver: &EndRecord) -> Vec<String> {
    let mut reasons = Vec::new();
    let received = receiver.counts.measured;
    let sent = sender.counts.measured.bytes;
    // Connections alone carry no bytes.
    if received.bytes == 0 && (received.messages == 0 || sent > 0) {
        let why = if had_no_cpu(sender) { ": other programs kept the sender's thread off its CPU" } else { "" };
        reasons.push(format!("nothing received in the measured window ({sent} bytes sent){why}"));
    }
    if receiver.window_end_ns <= receiver.window_begin_ns || sender.window_end_ns <= sender.window_begin_ns {
        reasons.push("the measured window is empty".into());
    }
    reasons
}

/// True where the traffic's threads were there all the window long and ran in none of it.
fn had_no_cpu(end: &EndRecord) -> bool {
    let run_ns = |sample: &Sample| {
        let traffic = sample.threads.iter().filter(|thread| thread.kind == ThreadKind::Traffic);
        traffic.map(|thread| thread.run_ns).reduce(|a, b| a + b)
    };
    let (first, last) = (end.samples.first().and_then(run_ns), end.samples.last().and_then(run_ns));
    first.is_some() && first == last
}

fn offloads(end: &EndRecord) -> Vec<String> {
    of_offloads(&end.offloads).map(|sentence| format!("{} {sentence}", end.role.name())).collect()
}

/// What came and cannot be what was sent. An agent gives such a run up; this is of the logs of others.
fn counts(part: &PartRun) -> Option<String> {
    let all = |end: &EndRecord| FlowRecord { counts: end.counts, sequence: end.sequence, ..FlowRecord::default() };
    let of_flow = |(sender, receiver): (&FlowRecord, &FlowRecord)| {
        let sent = [sender.counts.measured.messages, sender.counts.total().messages];
        implausible(sent, &receiver.counts, receiver.sequence.as_ref())
    };
    let mut flows = part.sender.flows.iter().zip(&part.receiver.flows);
    (part.conditions.workload == Workload::UdpStream)
        .then(|| of_flow((&all(&part.sender), &all(&part.receiver))).or_else(|| flows.find_map(of_flow)))
        .flatten()
}

fn segment_size(sender: &EndRecord, conditions: &Conditions) -> Option<String> {
    let asked = conditions.segment_bytes()?;
    let actual = sender.tcp_info.as_ref()?.snd_mss_bytes?;
    (actual != asked).then(|| format!("user data per segment: asked {asked} bytes, in force {actual}"))
}
