//! How many segments a packet carries through the stacks of both endpoints, and into the sender's
//! interface.
//!
//! Linux counts a super-packet as one packet of IP and of the interface, and each of its segments
//! in the counters of segments (`gso_segs`). All of these are those of a whole network namespace,
//! and are read at almost the same moment. `TCP_INFO` says how many segments were the run's; where
//! those of others are notable, there is no figure.

use bitcost_model::record::{EndpointRecord, Role, Sample, TcpInfo};

use crate::metrics::counting;
use crate::metrics::cpu;
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
/// Packets that IP made of fragments.
const REASSEMBLED: [&str; 2] = ["Ip.ReasmOKs", "Ip6.ReasmOKs"];

/// The first and the last sample of an endpoint.
struct Edges<'a> {
    first: &'a Sample,
    last: &'a Sample,
    seconds: f64,
}

impl<'a> Edges<'a> {
    fn of(end: &'a EndpointRecord) -> Option<Edges<'a>> {
        let (first, last) = cpu::ends_of(end)?;
        let seconds = cpu::span_seconds(end)?;
        Some(Edges {
            first,
            last,
            seconds,
        })
    }

    /// How much these counters of the protocols grew together; absent where none of them is known.
    fn grown(&self, names: &[&str]) -> Option<f64> {
        let growth = |name: &&str| {
            let (before, after) = (
                self.first.protocols.get(*name)?,
                self.last.protocols.get(*name)?,
            );
            Some((after - before) as f64)
        };
        let found: Vec<f64> = names.iter().filter_map(growth).collect();
        (!found.is_empty()).then(|| found.iter().sum())
    }

    /// How much a 32-bit counter of the connections grew.
    fn tcp(&self, counter: fn(&TcpInfo) -> Option<u32>) -> Option<f64> {
        let of = |sample: &Sample| counter(sample.tcp_info.as_ref()?);
        Some(f64::from(of(self.last)?.wrapping_sub(of(self.first)?)))
    }

    /// Packets that the endpoint's interface took to send.
    fn sent_by_interface(&self) -> Option<f64> {
        let of = |sample: &Sample| {
            let mut own = sample.interfaces.iter().filter(|own| own.node.is_none());
            own.next().map(|own| own.tx_packets)
        };
        Some(of(self.last)?.checked_sub(of(self.first)?)? as f64)
    }
}

/// Segments per packet, unless others' segments are too many.
fn per_packet(segments: f64, packets: f64, others: f64) -> Option<f64> {
    let allowed = f64::max(FOREIGN_PER_PACKET * packets, FOREIGN_PER_SEGMENT * segments);
    (segments > 0.0 && packets > 0.0 && others <= allowed).then(|| segments / packets)
}

/// Whether the connections of the run are the same at both edges.
fn keeps_connections(run: &RunView) -> bool {
    !run.conditions.workload.makes_connections()
}

/// Segments per packet that the sender's transport hands to IP.
pub fn in_the_senders_stack(run: &RunView) -> Option<f64> {
    let edges = Edges::of(run.sender)?;
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
    let edges = Edges::of(run.sender)?;
    of_stream(run, &edges, edges.sent_by_interface()?)
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

/// Segments per packet that the receiver's IP delivers to the transport, after GRO.
pub fn in_the_receivers_stack(run: &RunView) -> Option<f64> {
    let edges = Edges::of(run.receiver)?;
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
