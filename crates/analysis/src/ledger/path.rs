//! What interfaces and queueing disciplines on the way dropped.

use bitcost_model::counters::{Interface, LinkEmulator, Queue};
use bitcost_model::record::{Role, WholeRun};

use super::drops::{Drops, row};
use super::readings::{Both, grown, sum};
use crate::metrics::drops_since;

/// Kinds of the qdiscs whose drops are those of filters and policers.
const FILTERS: [&str; 2] = ["ingress", "clsact"];

/// An interface on the way, and how much its counters grew.
pub(super) struct Port {
    /// The node of the lab; absent at the endpoints.
    node: Option<String>,
    pub device: String,
    /// `sender's h1-eth0`, or the device of the lab.
    name: String,
    /// Packets that arrived, and that left.
    passed: [u64; 2],
    /// Counters of those that did not.
    bad: [[(&'static str, u64); 2]; 2],
    /// Whether data arrives here, and whether it leaves here.
    pub ways: [bool; 2],
}

/// The interfaces of both endpoints and of the nodes between them, in the order of the readings.
pub(super) fn ports(both: &Both) -> Vec<Port> {
    let mut ports = Vec::new();
    for (role, whole) in both.ends() {
        for before in &whole.before.interfaces {
            let same =
                |after: &&Interface| (&after.node, &after.device) == (&before.node, &before.device);
            let after = whole.after.interfaces.iter().find(same);
            ports.extend(after.map(|after| port(role, before, after, both.goes_both_ways)));
        }
    }
    let is_end = |port: &Port| port.node.is_none() && port.ways[0] && !port.ways[1];
    ports.sort_by_key(is_end);
    ports
}

fn port(role: Role, before: &Interface, after: &Interface, goes_both_ways: bool) -> Port {
    let grown = |count: fn(&Interface) -> u64| count(after).saturating_sub(count(before));
    let arrival = [
        ("rx_dropped", grown(|port| port.rx_dropped)),
        ("rx_errors", grown(|port| port.rx_errors)),
    ];
    let departure = [
        ("tx_dropped", grown(|port| port.tx_dropped)),
        ("tx_errors", grown(|port| port.tx_errors)),
    ];
    let leaves = grown(|port| port.tx_bytes) >= grown(|port| port.rx_bytes);
    let ways = match (&before.node, role) {
        _ if goes_both_ways => [true, true],
        (None, Role::Sender) => [false, true],
        (None, Role::Receiver) => [true, false],
        (Some(_), _) => [!leaves, leaves],
    };
    Port {
        node: before.node.clone(),
        device: before.device.clone(),
        name: match &before.node {
            None => format!("the {}'s {}", role.name(), before.device),
            Some(_) => before.device.clone(),
        },
        passed: [grown(|port| port.rx_packets), grown(|port| port.tx_packets)],
        bad: [arrival, departure],
        ways,
    }
}

/// The drops of interfaces and queueing disciplines in the direction of the data.
pub(super) fn drops(both: &Both, sent: u64, share: f64) -> Vec<Drops> {
    let ports = ports(both);
    let mut rows = Vec::new();
    for port in &ports {
        let bad = |way: usize, place: &str| {
            let each = both.each(sent, port.passed[way]);
            let by = format!("{} on {place}", port.name);
            let counters = port.bad[way].iter().filter(|_| port.ways[way]);
            let rows = counters.filter_map(|(counter, bad)| row(&by, counter, *bad, each, share));
            rows.collect::<Vec<_>>()
        };
        rows.extend(bad(0, "arrival"));
        rows.extend(queues(both, port, &ports, sent, share));
        rows.extend(bad(1, "departure"));
    }
    rows
}

/// The drops of the root qdisc of a port that data leaves by, and of filters.
fn queues(both: &Both, port: &Port, ports: &[Port], sent: u64, share: f64) -> Vec<Drops> {
    let mut rows = Vec::new();
    for (role, whole) in both.ends() {
        let is_own = |queue: &Queue| {
            let is_end = port.node.is_some() || port.name.contains(role.name());
            is_end && queue.node == port.node && queue.device == port.device
        };
        for after in whole.after.queues.iter().filter(|queue| is_own(queue)) {
            let is_filter = FILTERS.contains(&after.kind.as_str());
            let is_root = after.parent.is_none() && port.ways[1];
            if after.kind == LinkEmulator::KIND || !(is_filter || is_root) {
                continue;
            }
            let by = match is_filter {
                true => format!("a filter or policer of {}", port.name),
                false => format!("the queue ({}) of {}", after.kind, port.name),
            };
            let each = both.each(sent, given(port, ports, whole));
            let packets = drops_since(&whole.before, after);
            rows.extend(row(&by, "qdisc drops", packets, each, share));
        }
    }
    rows
}

/// The packets that a port's queue is given: as IP of the sender made
/// them, or as they arrived at the port's node.
fn given(port: &Port, ports: &[Port], whole: &WholeRun) -> u64 {
    match &port.node {
        None => {
            let names = ["Ip.OutRequests", "Ip6.OutRequests"];
            sum(names.iter().filter_map(|name| grown(whole, name)))
        }
        Some(_) => {
            let others = ports.iter().filter(|other| other.node == port.node);
            let arrive = others.filter(|other| other.ways[0]);
            arrive.map(|other| other.passed[0]).max().unwrap_or(0)
        }
    }
}
