//! How many segments a packet carries through the stacks of both endpoints, and into the sender's
//! interface.
//!
//! Linux counts a super-packet as one packet of IP and of the interface, and each of its segments
//! in the counters of segments (`gso_segs`). All of these are those of a whole network namespace,
//! and are read at almost the same moment. `TCP_INFO` says how many segments were the run's; where
//! those of others are notable, there is no figure.

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::Role;

use crate::metrics::counting;
use crate::metrics::edges::Edges;
use crate::metrics::view::RunView;

/// The most segments of others, relative to the packets of the run.
const FOREIGN_PER_PACKET: f64 = 0.1;
/// The most segments of others, relative to the segments of the run: below that they cannot be
/// distinguished from the time between the readings of two sources.
const FOREIGN_PER_SEGMENT: f64 = 0.01;

/// Packets that the transport hands to IP; a super-packet counts once.
const HANDED_TO_IP: [&str; 2] = ["Ip.OutRequests", "Ip6.OutRequests"];
/// Packets that IP hands to the transport; a super-packet counts once.
const DELIVERED: [&str; 2] = ["Ip.InDelivers", "Ip6.InDelivers"];
/// Segments that IP received, by their congestion marks; each segment of a super-packet counts.
const RECEIVED_SEGMENTS: [&str; 8] = [
    "IpExt.InNoECTPkts",
    "IpExt.InECT0Pkts",
    "IpExt.InECT1Pkts",
    "IpExt.InCEPkts",
    "Ip6.InNoECTPkts",
    "Ip6.InECT0Pkts",
    "Ip6.InECT1Pkts",
    "Ip6.InCEPkts",
];
const REASSEMBLED: [&str; 2] = ["Ip.ReasmOKs", "Ip6.ReasmOKs"];

fn per_packet(segments: f64, packets: f64, others: f64) -> Option<f64> {
    let allowed = f64::max(FOREIGN_PER_PACKET * packets, FOREIGN_PER_SEGMENT * segments);
    (segments > 0.0 && packets > 0.0 && others <= allowed).then(|| segments / packets)
}

/// Whether the connections of the run are the same at both edges.
fn keeps_connections(run: &RunView) -> bool {
    !run.conditions.workload.makes_connections()
}

/// Segments per packet that the sender's transport hands to IP.
fn in_the_senders_stack(run: &RunView) -> Option<f64> {
    let edges = Edges::of(&run.sender.samples)?;
    let packets = edges.grown(&HANDED_TO_IP)?;
    if !run.conditions.workload.is_datagram() {
        return of_stream(run, &edges, packets);
    }
    let datagrams = counting::messages_per_second(run, Role::Sender)? * edges.seconds;
    per_packet(datagrams, packets, edges.grown(&["Tcp.OutSegs"])?)
}

/// Segments per packet that the sender's interface is given; TCP.
pub fn at_the_senders_interface(run: &RunView) -> Option<f64> {
    if run.conditions.workload.is_datagram() {
        // A queue before the interface drops datagrams that nobody retransmits.
        return None;
    }
    let edges = Edges::of(&run.sender.samples)?;
    of_stream(run, &edges, edges.sent_packets()?)
}

/// The sender's data segments per packet of these, both without its acknowledgements.
fn of_stream(run: &RunView, edges: &Edges, packets: f64) -> Option<f64> {
    let own = edges.tcp(|info| info.segs_out)?;
    let acks = own - edges.tcp(|info| info.data_segs_out)?;
    let all = edges.grown(&["Tcp.OutSegs"])?;
    let datagrams = edges.grown(&["Udp.OutDatagrams", "Udp6.OutDatagrams"]);
    let others = (all - own).max(0.0) + datagrams.unwrap_or(0.0);
    per_packet(all - acks, packets - acks, others).filter(|_| keeps_connections(run))
}

pub fn segments_per_packet(run: &RunView, role: Role) -> Option<f64> {
    match role {
        Role::Sender => in_the_senders_stack(run),
        Role::Receiver => in_the_receivers_stack(run),
    }
}

/// User data of each packet in an endpoint's stack, in bytes.
pub fn bytes_per_packet(run: &RunView, role: Role) -> Option<f64> {
    let segments = segments_per_packet(run, role)?;
    let counts = run.measured(Role::Sender);
    let segment_bytes = match run.conditions.workload.is_datagram() {
        true => counts.bytes as f64 / counts.messages as f64,
        false => counting::segment_size(run)?,
    };
    Some(segments * segment_bytes).filter(|bytes| bytes.is_finite())
}

/// Bytes of user data from which a packet of a stream counts as full: more than one message, or half
/// of the largest packet that the stack makes (64 KiB, `GSO_MAX_SIZE` in
/// include/linux/netdevice.h).
pub fn full_from(conditions: &Conditions) -> f64 {
    (1.5 * f64::from(conditions.message_size_bytes)).min(32_768.0)
}

/// Share of the time between samples in which packets of a stream were full, in per cent; where the
/// interface makes other packets than the stack, all of the window or none of it.
pub fn full_packets_pct(run: &RunView) -> Option<f64> {
    if run.conditions.workload != Workload::TcpStream {
        return None;
    }
    let full = full_from(run.conditions);
    let both = at_the_senders_interface(run).zip(in_the_senders_stack(run));
    if !both.is_some_and(|(interface, stack)| (0.9..=1.1).contains(&(interface / stack))) {
        let is_full = bytes_per_packet(run, Role::Sender)? >= full;
        return Some(if is_full { 100.0 } else { 0.0 });
    }
    let (mut all, mut in_full) = (0.0, 0.0);
    for step in Edges::steps(&run.sender.samples) {
        all += step.seconds;
        let packets = step.sent_packets()?;
        if packets > 0.0 && step.counted(|counts| counts.bytes)? / packets >= full {
            in_full += step.seconds;
        }
    }
    (all > 0.0).then(|| 100.0 * in_full / all)
}

/// Share of the connections' busy time, between the first and the last sample, that the receive window limits, in per cent.
pub fn receive_window_limited_pct(run: &RunView) -> Option<f64> {
    let edges = Edges::of(&run.sender.samples)?;
    let busy = edges.tcp_64(|info| info.busy_time_us)?;
    (keeps_connections(run) && busy > 0.0).then_some(())?;
    Some(100.0 * edges.tcp_64(|info| info.rwnd_limited_us)? / busy)
}

/// Segments per packet that the receiver's IP delivers to the transport, after GRO.
fn in_the_receivers_stack(run: &RunView) -> Option<f64> {
    let edges = Edges::of(&run.receiver.samples)?;
    let packets = edges.grown(&DELIVERED)?;
    let all = edges.grown(&RECEIVED_SEGMENTS)?;
    if run.conditions.workload.is_datagram() {
        let is_whole = edges.grown(&REASSEMBLED).unwrap_or(0.0) == 0.0;
        return per_packet(all, packets, edges.grown(&["Tcp.InSegs"])?).filter(|_| is_whole);
    }
    let own = edges.tcp(|info| info.segs_in)?;
    let acks = own - edges.tcp(|info| info.data_segs_in)?;
    per_packet(all - acks, packets - acks, (all - own).max(0.0)).filter(|_| keeps_connections(run))
}
