//! The record of the endpoint that a stock server plays, from the results that it sends.

use bitcost_model::Invalid;
use bitcost_model::protocol::{Part, SentCounts};
use bitcost_model::record::{
    Counts, EndpointRecord, FlowRecord, Iperf3Peer, PartRecord, PhaseCounts, Role, Sequence,
};

use crate::protocol::stream_id;
use crate::results::{Results, StreamResult};

/// The record of the endpoint that the server played, from its results, and from what the other
/// endpoint sent (`theirs`).
pub fn record_of(
    results: &Results,
    parts: &[Part],
    theirs: &SentCounts,
    window: [u64; 2],
) -> Result<EndpointRecord, Invalid> {
    let mut index = 0;
    let mut records = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut flows = Vec::new();
        for flow in 0..part.conditions.flows as usize {
            let id = stream_id(index);
            index += 1;
            let stream = results.streams.iter().find(|stream| stream.id == id);
            let stream = stream.ok_or_else(|| Invalid(format!("has no result of stream {id}")))?;
            let sent = theirs.get(number).and_then(|flows| flows.get(flow));
            flows.push(flow_record(part, stream, sent.copied().unwrap_or_default()));
        }
        records.push(PartRecord {
            role: part.role,
            in_effect: Vec::new(),
            all: FlowRecord::sum(&flows),
            flows,
        });
    }
    if records.is_empty() {
        return Err(Invalid("was asked for no part".to_owned()));
    }
    let first = records.remove(0);
    Ok(EndpointRecord {
        role: first.role,
        window_start_ns: window[0],
        window_end_ns: window[1].max(window[0] + 1),
        counts: first.all.counts,
        sequence: first.all.sequence,
        flows: first.flows,
        background: records,
        ticks_per_second: 100,
        iperf3: Some(said(results, parts)),
        ..EndpointRecord::default()
    })
}

fn said(results: &Results, parts: &[Part]) -> Iperf3Peer {
    let is_datagram = |part: &Part| part.conditions.workload.is_datagram();
    let sends_tcp = (parts.iter()).any(|part| part.role == Role::Sender && !is_datagram(part));
    let retransmits = results
        .streams
        .iter()
        .filter_map(|stream| stream.retransmits);
    let receives = parts.iter().any(|part| part.role == Role::Receiver);
    let receives_udp = receives && parts.iter().any(is_datagram);
    let jitters = results.streams.iter().filter_map(|stream| stream.jitter);
    Iperf3Peer {
        process_cpu_pct: match [
            results.cpu_util_total,
            results.cpu_util_user,
            results.cpu_util_system,
        ] {
            [Some(total), Some(user), Some(system)] => Some([total, user, system]),
            _ => None,
        },
        retransmitted: (sends_tcp && results.sender_has_retransmits == Some(1))
            .then(|| retransmits.sum()),
        jitter_s: jitters.reduce(f64::max).filter(|_| receives_udp),
    }
}

/// A flow as the server counted it. Of datagrams, those that were sent outside of the window count
/// as received there.
fn flow_record(part: &Part, stream: &StreamResult, [measured, total]: [u64; 2]) -> FlowRecord {
    let size = u64::from(part.conditions.message_size_bytes);
    let (messages, sequence) = match (part.conditions.workload.is_datagram(), part.role) {
        (false, _) => (0, None),
        (true, Role::Sender) => (stream.packets, None),
        (true, Role::Receiver) => {
            let received = stream.packets.saturating_sub(stream.errors).min(total);
            let lost = total - received;
            let sequence = Sequence {
                measured_sent: measured,
                measured_lost: lost.min(measured),
                total_lost: lost,
                ..Sequence::default()
            };
            (received, Some(sequence))
        }
    };
    let outside = match part.role {
        Role::Receiver => (total - measured.min(total)).min(messages),
        Role::Sender => 0,
    };
    let counts = |messages, bytes| Counts {
        messages,
        bytes,
        ..Counts::default()
    };
    let bytes_outside = (outside * size).min(stream.bytes);
    FlowRecord {
        counts: PhaseCounts {
            outside: counts(outside, bytes_outside),
            measured: counts(messages - outside, stream.bytes - bytes_outside),
        },
        sequence,
        ..FlowRecord::default()
    }
}
