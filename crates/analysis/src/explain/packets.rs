//! What becomes of a run's packets by their size: full ones that never arrive, and those that travel in fragments.

use bitcost_model::conditions::TCP_TIMESTAMPS;
use bitcost_model::place::IpVersion;
use bitcost_model::record::EndpointRecord;

use crate::metrics::{RunView, actual, protocols_grown};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Packets {
    /// Of an end of which nearly nothing was acknowledged.
    pub unheard: Option<Unheard>,
    /// Packets that the sender's host cut, or the receiver's put together, and their fragments.
    pub in_fragments: Option<[f64; 2]>,
}

/// Connections of full segments on which nothing came, and less than one of these was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Unheard {
    /// Bytes of a full packet.
    pub packet_bytes: u32,
    /// Full segments that were acknowledged, of each connection.
    pub acknowledged: f64,
    /// Segments that were sent again, of each connection.
    pub retransmits: f64,
}

impl Packets {
    pub(super) fn of(run: &RunView) -> Packets {
        let cut = |end, names: [[&str; 2]; 2]| {
            let [packets, fragments] = names.map(|names| protocols_grown(end, &names));
            packets.filter(|packets| *packets > 0.0).zip(fragments)
        };
        let created = [
            ["Ip.FragOKs", "Ip6.FragOKs"],
            ["Ip.FragCreates", "Ip6.FragCreates"],
        ];
        let arrived = [
            ["Ip.ReasmOKs", "Ip6.ReasmOKs"],
            ["Ip.ReasmReqds", "Ip6.ReasmReqds"],
        ];
        let both = cut(run.sender, created).or_else(|| cut(run.receiver, arrived));
        let ends = [run.sender, run.receiver];
        Packets {
            unheard: ends.into_iter().find_map(|end| unheard(run, end)),
            in_fragments: both.map(Into::into),
        }
    }
}

/// The connections of this end, where nothing came of full segments, and what it sent again was not acknowledged.
fn unheard(run: &RunView, end: &EndpointRecord) -> Option<Unheard> {
    let [segment, header] = full_segment(run)?;
    let conditions = run.conditions;
    let sizes = [
        conditions.request_size_bytes,
        conditions.response_size_bytes,
    ];
    let is_transactional = conditions.workload.is_transactional();
    let is_small = is_transactional && sizes.iter().all(|bytes| *bytes < segment);
    let came = [run.sender, run.receiver].map(|end| end.counts.total().bytes);
    // What was handed to the kernel counts as sent, of a stream by the sender, of an answer by the receiver.
    let has_passed = came[usize::from(!is_transactional)] > 0;
    if is_small || has_passed {
        return None;
    }
    let info = end.tcp_info.as_ref()?;
    let flows = end.flows.len().max(1) as f64;
    let acknowledged = info.bytes_acked? as f64 / flows / f64::from(segment);
    let retransmits = f64::from(info.total_retrans?) / flows;
    (acknowledged < 1.0 && retransmits > 0.0).then_some(Unheard {
        packet_bytes: segment.saturating_add(header),
        acknowledged,
        retransmits,
    })
}

/// User data of a full segment as the connections of a run began, and the headers of its packet, in bytes.
pub(crate) fn full_segment(run: &RunView) -> Option<[u32; 2]> {
    let segment = run.sender.flows.first()?.at_start.mss_bytes?;
    let options = run.sender.tcp_info.as_ref()?.timestamps;
    let options = u32::from(options == Some(true)) * TCP_TIMESTAMPS;
    let version = actual(run.sender, "ip_version").and_then(IpVersion::named);
    let version = version.unwrap_or(IpVersion::V4);
    let of_ip = run.conditions.ip_version().header_bytes();
    let header = run.conditions.header_bytes() - of_ip + version.header_bytes();
    Some([segment, header.saturating_add(options)])
}
