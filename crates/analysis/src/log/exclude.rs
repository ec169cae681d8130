//! Why a run with a result is left out of its cell.

use crate::metrics::{PartRun, RunView, cpu, parts, protocols_grown};
use bitcost_model::record::{
    Counts, EndpointRecord, PhaseCounts, Sequence, ThreadKind, implausible,
};

use super::in_effect::of_offloads;

/// The reasons for which a run is left out, joined; absent if it may be used.
pub fn reason(run: &RunView) -> Option<String> {
    let parts = parts(run);
    let offloads = |end: &EndpointRecord| {
        let role = end.role.name();
        of_offloads(&end.offloads)
            .map(move |sentence| format!("{role} {sentence}"))
            .collect::<Vec<_>>()
    };
    let ends = [run.sender, run.receiver].into_iter();
    let mut reasons: Vec<String> = ends.flat_map(offloads).collect();
    reasons.extend(parts.iter().filter_map(segment_size));
    reasons.extend(parts.iter().filter_map(counts));
    // Of other programs' connections it is a result, and their ends are counted for as long, but not at once.
    let is_own = !run.is_of_programs();
    if is_own {
        reasons.extend(nothing(run.sender, run.receiver));
    }
    let contradictions = |part| contradictions(part, is_own);
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
        let why = match (had_no_cpu(sender), had_only_fragments(receiver)) {
            (true, _) => ": other programs kept the sender's thread off its CPU",
            (_, true) => {
                ": only fragments of datagrams arrived, and no datagram was complete; use messages that fit the path's MTU"
            }
            _ => "",
        };
        reasons.push(format!(
            "nothing received in the measured window ({sent} bytes sent){why}"
        ));
    }
    if [sender, receiver]
        .iter()
        .any(|end| end.window_end_ns <= end.window_start_ns)
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
    let grew = |names: [&str; 2]| protocols_grown(receiver, &names) > Some(0.0);
    grew(["Ip.ReasmReqds", "Ip6.ReasmReqds"]) && !grew(["Ip.ReasmOKs", "Ip6.ReasmOKs"])
}

/// Why the received datagrams cannot be those that were sent. An agent gives up such a run itself;
/// this check is for logs that others made. Of a run that was interrupted the record of one endpoint
/// may be what it reported before it was lost, so that the two cannot be compared.
fn counts(part: &PartRun) -> Option<String> {
    part.interrupted.is_none().then_some(())?;
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

fn segment_size(part: &PartRun) -> Option<String> {
    let asked = part.conditions.segment_bytes()?;
    let actual = part.sender.tcp_info.as_ref()?.snd_mss_bytes?;
    (actual != asked)
        .then(|| format!("user data per segment: requested {asked} bytes, in effect {actual}"))
}

/// Contradictions in a part's two records, which cannot both be true, a sentence each: such a record was changed, or is
/// wrong. Those between the records only where both are of one run.
///
/// Only totals of the whole run are compared. They hold whatever is in flight when the window starts or ends: no endpoint
/// had counted more at a sample than at its end, and no more arrives than was sent.
fn contradictions(part: &PartRun, is_one_run: bool) -> Vec<String> {
    let ends = [&part.sender, &part.receiver].into_iter();
    let alone = ends.filter_map(samples);
    let between = received_more(part).filter(|_| is_one_run);
    alone.chain(between).collect()
}

/// Checks that the counters rise from the window's first sample to its last, and to the whole run.
fn samples(end: &EndpointRecord) -> Option<String> {
    let (first, last) = (&end.samples.first()?.counts, &end.samples.last()?.counts);
    let total = end.counts.total();
    let named = |of: &Counts| {
        [
            ("bytes", of.bytes),
            ("messages", of.messages),
            ("calls", of.calls),
        ]
    };
    let each = named(first).into_iter().zip(named(last)).zip(named(&total));
    let mut each = each.map(|(((name, first), (_, last)), (_, total))| (name, first, last, total));
    let (name, first, last, total) =
        each.find(|(_, first, last, total)| first > last || last > total)?;
    let role = end.role.name();
    Some(format!(
        "the {role}'s record contradicts itself: {first} {name} at the window's start, {last} at its end, {total} in the whole run"
    ))
}

/// Checks that the receiver of a stream has no more than was sent; for datagrams, [`counts`] does, which says why not
/// of a run that was interrupted.
fn received_more(part: &PartRun) -> Option<String> {
    part.interrupted.is_none().then_some(())?;
    part.conditions.workload.is_byte_stream().then_some(())?;
    let [sent, received] = [&part.sender, &part.receiver].map(|end| end.counts.total().bytes);
    (received > sent).then(|| {
        format!("the records contradict each other: {received} bytes received, {sent} sent")
    })
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_model::record::{Role, Sample};
    use bitcost_model::workload::Workload;

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

    #[test]
    fn of_an_interrupted_run_each_record_is_checked_alone() {
        let counts = |bytes| Counts {
            bytes,
            ..Counts::default()
        };
        let record = |role, samples: [u64; 2], total| {
            let sample = |bytes| Sample {
                counts: counts(bytes),
                ..Sample::default()
            };
            let mut record = EndpointRecord {
                role,
                window_end_ns: 1,
                samples: samples.map(sample).into(),
                ..EndpointRecord::default()
            };
            record.counts.measured = counts(total);
            record
        };
        let sender = record(Role::Sender, [9, 5], 9);
        let receiver = record(Role::Receiver, [0, 10], 10);
        let conditions = Conditions::of(Workload::TcpStream);
        let said = |interrupted| {
            let (sender, receiver, conditions) = (&sender, &receiver, &conditions);
            let view = RunView {
                interrupted,
                sender,
                receiver,
                conditions,
                shared_cpus: false,
                napi_threaded: false,
                shaped_bps: None,
            };
            reason(&view).unwrap_or_default()
        };
        let (own, both) = (
            "the sender's record contradicts itself",
            "10 bytes received, 9 sent",
        );
        let (whole, part) = (said(None), said(Some("stopped")));
        assert!(whole.contains(own) && whole.contains(both), "{whole}");
        assert!(part.contains(own) && !part.contains(both), "{part}");
    }
}
