//! What the receiving host dropped between its interface and the socket.

use super::drops::{Drops, row};
use super::readings::{Both, grown, sum};

/// Counters of packets that IP or TCP of the receiving host dropped before a socket got them (kernel
/// doc: networking/snmp_counter).
const COUNTERS: [(&str, &str); 4] = [
    ("Ip.InDiscards", "IP of the receiving host"),
    ("Ip6.InDiscards", "IPv6 of the receiving host"),
    (
        "TcpExt.IPReversePathFilter",
        "the receiving host's reverse path filter (rp_filter)",
    ),
    ("Tcp.InErrs", "TCP of the receiving host, as damaged"),
];

pub(super) fn drops(both: &Both) -> Vec<Drops> {
    let of = |(counter, by): &(&'static str, &str)| {
        let count = sum(both.receiving().filter_map(|end| grown(end, counter)));
        row(by, counter, count, 1.0, 1.0)
    };
    COUNTERS.iter().filter_map(of).collect()
}
