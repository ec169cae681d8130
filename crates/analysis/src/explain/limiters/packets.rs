//! Packets that do not fit the path: those that vanish, and those that travel in fragments.

use super::application::gives_up;
use super::evidence::{keeps_rate, least, least_of, most, most_of};
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
    evidence: "half to 1.5 times a stream's segments leave the sender's host in fragments, or are put together from some at the receiver's, and a requested rate is not kept",
    suspects: |signals, found| {
        found.extend(cut(signals));
        found.extend(gives_up(signals, &FRAGMENTS));
    },
};

fn vanishing(signals: &Signals) -> Option<Candidate> {
    let unheard = signals.packets.unheard?;
    let evidence = vec![
        least_of("segments sent again", unheard.retransmits, "", AGAIN),
        most_of("full segments acknowledged", unheard.acknowledged, "", 0.9),
    ];
    let detail = format!(
        "connections are made, and nothing of packets of {} bytes is acknowledged",
        unheard.packet_bytes
    );
    Some(MTU_BLACK_HOLE.suspect(1.0, evidence).with_detail(detail))
}

fn cut(signals: &Signals) -> Option<Candidate> {
    let [packets, fragments] = signals.packets.in_fragments?;
    // The counters are those of the host: more than the run's segments are of others.
    let counter = "segments in fragments";
    let share = packets / signals.tcp.segments?;
    let evidence = vec![least(counter, share, 0.5), most(counter, share, 1.5)];
    if keeps_rate(signals) {
        return None;
    }
    let each = (fragments / packets).round();
    let detail = format!(
        "packets travel as about {each} fragments, which the path carries as packets of their own"
    );
    Some(FRAGMENTS.suspect(0.84, evidence).with_detail(detail))
}
