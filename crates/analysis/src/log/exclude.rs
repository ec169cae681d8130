//! Why a run with a result is left out of its cell.

use crate::metrics::{PartRun, RunView, parts, protocols_grown};
use bitcost_model::conditions::Conditions;
use bitcost_model::record::{EndpointRecord, FlowRecord, Sample, ThreadKind, implausible};

use super::contradiction::contradictions;
use super::in_effect::of_offloads;

/// The reasons for which a run is left out, joined; absent if it may be used.
pub fn reason(run: &RunView) -> Option<String> {
    let mut reasons = offloads(run.sender);
    reasons.extend(offloads(run.receiver));
    reasons.extend(
        parts(run)
            .iter()
            .filter_map(|part| segment_size(&part.sender, &part.conditions)),
    );
    reasons.extend(parts(run).iter().flat_map(counts));
    reasons.extend(nothing(run.sender, run.receiver));
    reasons.extend(contradictions(run));
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
    let run_ns = |sample: &Sample| {
        let traffic = sample
            .threads
            .iter()
            .filter(|thread| thread.kind == ThreadKind::Traffic);
        traffic.map(|thread| thread.run_ns).reduce(|a, b| a + b)
    };
    let (first, last) = (
        end.samples.first().and_then(run_ns),
        end.samples.last().and_then(run_ns),
    );
    first.is_some() && first == last
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
    let all = |end: &EndpointRecord| FlowRecord {
        counts: end.counts,
        sequence: end.sequence,
        ..FlowRecord::default()
    };
    let of_flow = |(sender, receiver): (&FlowRecord, &FlowRecord)| {
        let sent = [
            sender.counts.measured.messages,
            sender.counts.total().messages,
        ];
        implausible(sent, &receiver.counts, receiver.sequence.as_ref())
    };
    let mut flows = part.sender.flows.iter().zip(&part.receiver.flows);
    if !part.conditions.workload.numbers_datagrams() {
        return None;
    }
    of_flow((&all(&part.sender), &all(&part.receiver))).or_else(|| flows.find_map(of_flow))
}

fn segment_size(sender: &EndpointRecord, conditions: &Conditions) -> Option<String> {
    let asked = conditions.segment_bytes()?;
    let actual = sender.tcp_info.as_ref()?.snd_mss_bytes?;
    (actual != asked)
        .then(|| format!("user data per segment: requested {asked} bytes, in effect {actual}"))
}

#[cfg(test)]
mod tests {
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
