//! Queueing disciplines of the endpoint's interface, and of every interface on the path.

use std::collections::BTreeMap;

use bitcost_model::counters::Queue;
use bitcost_sys::netlink::{Qdisc, ROOT, Rtnl};

use crate::source::{Source, Target, inside, source};

/// The kind of qdisc of devices that send at once.
const NO_QUEUE: &str = "noqueue";

struct Hop {
    node: Option<String>,
    rtnl: Rtnl,
    devices: BTreeMap<u32, String>,
}

pub fn open(target: &Target) -> Option<Source> {
    let own = hop(None, |name| name == target.device);
    let between = target.between.nodes.iter();
    let between =
        between.map(|node| inside(&node.namespace, || hop(Some(node.name.clone()), |_| true)));
    let mut hops: Vec<Hop> = std::iter::once(own).chain(between).flatten().collect();
    hops.first()?;
    source(move |sample, _| {
        for hop in &mut hops {
            let found = hop.rtnl.all_qdiscs().unwrap_or_default();
            let queues = found.into_iter().filter(|found| found.kind != NO_QUEUE);
            let reported = queues.filter_map(|found| queue(&hop.node, &hop.devices, found));
            sample.queues.extend(reported);
        }
    })
}

fn hop(node: Option<String>, is_told: impl Fn(&str) -> bool) -> Option<Hop> {
    let mut rtnl = Rtnl::open().ok()?;
    let links = rtnl
        .links()
        .ok()?
        .into_iter()
        .filter(|link| is_told(&link.name));
    Some(Hop {
        node,
        rtnl,
        devices: links.map(|link| (link.index, link.name)).collect(),
    })
}

/// The counters, if they belong to one of these interfaces.
fn queue(node: &Option<String>, devices: &BTreeMap<u32, String>, found: Qdisc) -> Option<Queue> {
    let counted = found.statistics.as_ref()?;
    // Of a token bucket alone.
    let rate_bps = match found.kind.as_str() {
        "tbf" => found.parameters().get("rate_bps").copied(),
        _ => None,
    };
    Some(Queue {
        node: node.clone(),
        device: devices.get(&found.link)?.clone(),
        bytes: counted.bytes,
        packets: counted.packets,
        drops: counted.drops,
        backlog_packets: counted.backlog_packets,
        rate_bps,
        kind: found.kind,
        handle: format!("{:x}:", found.handle >> 16),
        parent: (found.parent != ROOT)
            .then(|| format!("{:x}:{:x}", found.parent >> 16, found.parent & 0xffff)),
    })
}

#[cfg(test)]
mod tests {
    use bitcost_sys::netlink::Statistics;

    use super::*;

    #[test]
    fn names_are_those_of_tc() {
        let devices = BTreeMap::from([(3, "eth0".to_owned())]);
        let found = Qdisc {
            link: 3,
            kind: "tbf".to_owned(),
            handle: 0x8001_0000,
            parent: ROOT,
            statistics: Some(Statistics::default()),
            ..Qdisc::default()
        };
        let root = queue(&None, &devices, found.clone()).expect("of eth0");
        assert_eq!(
            (root.device.as_str(), root.handle.as_str(), root.parent),
            ("eth0", "8001:", None)
        );
        let leaf = queue(
            &Some("s1".to_owned()),
            &devices,
            Qdisc {
                parent: 0x0001_0010,
                ..found.clone()
            },
        );
        let leaf = leaf.expect("of eth0");
        assert_eq!(
            (leaf.parent.as_deref(), leaf.node.as_deref()),
            (Some("1:10"), Some("s1"))
        );
        assert_eq!(queue(&None, &devices, Qdisc { link: 4, ..found }), None);
    }
}
