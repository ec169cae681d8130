//! Packets that do not fit the path: those that vanish, and those that travel in fragments.

use super::evidence::{RATE_KEPT, least, least_of, most, most_of};
use crate::explain::limiter::{Candidate, LimiterRow};
use crate::explain::signals::Signals;

/// A connection that sent again this often has waited for three retransmission timers or more.
const AGAIN: f64 = 3.0;

pub static MTU_BLACK_HOLE: LimiterRow = LimiterRow {
    name: "mtu_black_hole",
    title: "MTU black hole",
    remedy: "clamp the MSS of SYNs where the path gets narrow (nft `tcp option maxseg size set rt mtu`, or iptables `TCPMSS --clamp-mss-to-pmtu`), let ICMP pass there, or lower the MTU of the sender's interface, or use smaller segments (-M 1200), or net.ipv4.tcp_mtu_probing=1 at the sender",
    evidence: "connections are made, and less than one full segment of each is ever acknowledged, while it sends again three times or more",
    suspects: |signals, found| found.extend(vanishing(signals)),
};

pub static FRAGMENTS: LimiterRow = LimiterRow {
    name: "fragments",
    title: "packets in fragments",
    remedy: "lower the MTU of the tunnel or overlay by what its header takes (VXLAN 50 bytes, WireGuard 60; over IPv6 20 more)",
    evidence: "half of a stream's segments leave the sender's host in fragments, or are put together from some at the receiver's, and a requested rate is not kept",
    suspects: |signals, found| found.extend(cut(signals)),
};

fn vanishing(signals: &Signals) -> Option<Candidate> {
    let unheard = signals.packets.unheard?;
    let evidence = vec![
        least_of("segments sent again", unheard.retransmits, "", AGAIN),
        most_of("full segments acknowledged", unheard.acknowledged, "", 0.9),
    ];
    let detail = format!(
        "connections are made, packets of {} bytes do not arrive, and no ICMP message says so",
        unheard.packet_bytes
    );
    let found = MTU_BLACK_HOLE.suspect(1.0, evidence);
    Some(found.with_detail(detail).of_change())
}

fn cut(signals: &Signals) -> Option<Candidate> {
    let [packets, fragments] = signals.packets.in_fragments?;
    let evidence = vec![
        least(
            "segments in fragments",
            packets / signals.tcp.segments?,
            0.5,
        ),
        most(
            "requested rate that is kept",
            signals.rate_kept.unwrap_or(0.0),
            1.0 - RATE_KEPT,
        ),
    ];
    let each = (fragments / packets).round();
    let detail = format!(
        "each packet leaves as {each} fragments, which the path carries as packets of their own"
    );
    let found = FRAGMENTS.suspect(0.84, evidence).with_detail(detail);
    Some(found.of_change())
}
