//! How many segments a packet carries through the stacks of both endpoints, and into the sender's
//! interface.
//!
//! Linux counts a super-packet as one packet of IP and of the interface, and each of its segments
//! in `TCP_INFO` (`gso_segs`). Counters of IP and of interfaces are those of a whole network
//! namespace. Where others than the run have a notable share in them, there is no figure.

use bitcost_model::conditions::Workload;
use bitcost_model::record::{EndpointRecord, Role, Sample, TcpInfo};

use crate::metrics::counting;
use crate::metrics::cpu;
use crate::metrics::view::RunView;

/// The most segments of others, relative to the packets of the run: the figure is at most that much
/// too low.
const FOREIGN: f64 = 0.1;

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
    let is_own = packets > 0.0 && others <= FOREIGN * packets;
    (segments > 0.0 && is_own).then(|| segments / packets)
}

/// Whether the connections of the run are the same at both edges.
fn keeps_connections(run: &RunView) -> bool {
    !matches!(
        run.conditions.workload,
        Workload::TcpCrr | Workload::TcpConnect
    )
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

/// The sender's data segments per packet of these, without its acknowledgements.
fn of_stream(run: &RunView, edges: &Edges, packets: f64) -> Option<f64> {
    let (all, data) = (
        edges.tcp(|info| info.segs_out)?,
        edges.tcp(|info| info.data_segs_out)?,
    );
    let others = (edges.grown(&["Tcp.OutSegs"])? - all).max(0.0)
        + edges
            .grown(&["Udp.OutDatagrams", "Udp6.OutDatagrams"])
            .unwrap_or(0.0);
    per_packet(data, packets - (all - data), others).filter(|_| keeps_connections(run))
}

/// Segments per packet that the receiver's IP delivers to the transport, after GRO.
pub fn in_the_receivers_stack(run: &RunView) -> Option<f64> {
    let edges = Edges::of(run.receiver)?;
    let packets = edges.grown(&DELIVERED)?;
    let segments = edges.grown(&RECEIVED_SEGMENTS)?;
    if run.conditions.workload.is_datagram() {
        let is_whole = edges.grown(&REASSEMBLED).unwrap_or(0.0) == 0.0;
        return per_packet(segments, packets, edges.grown(&["Tcp.InSegs"])?).filter(|_| is_whole);
    }
    let (all, data) = (
        edges.tcp(|info| info.segs_in)?,
        edges.tcp(|info| info.data_segs_in)?,
    );
    per_packet(data, packets - (all - data), (segments - all).max(0.0))
        .filter(|_| keeps_connections(run))
}
