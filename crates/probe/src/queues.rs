//! Queueing disciplines of the endpoint's interface, and of every interface on the path.

use std::collections::BTreeMap;

use bitcost_model::counters::Queue;
use bitcost_sys::netlink::{Qdisc, ROOT, Rtnl};

use crate::source::{Source, Target, hops, source};

/// The kind of qdisc of devices that send at once.
const NO_QUEUE: &str = "noqueue";

pub fn open(target: &Target) -> Option<Source> {
    let mut hops = hops(target, opened)?;
    source(move |sample, _| {
        for (node, (rtnl, devices)) in &mut hops {
            let found = rtnl.all_qdiscs().unwrap_or_default();
            let queues = found.into_iter().filter(|found| found.kind != NO_QUEUE);
            let reported = queues.filter_map(|found| queue(node, devices, found));
            sample.queues.extend(reported);
        }
    })
}

/// A connection, and the names of the interfaces that are reported: the one that is named, or all.
fn opened(only: Option<&str>) -> Option<(Rtnl, BTreeMap<u32, String>)> {
    let mut rtnl = Rtnl::open().ok()?;
    let links = rtnl.links().ok()?.into_iter();
    let links = links.filter(|link| only.is_none_or(|only| link.name == only));
    let devices = links.map(|link| (link.index, link.name)).collect();
    Some((rtnl, devices))
}

/// The counters, if they belong to one of these interfaces.
fn queue(node: &Option<String>, devices: &BTreeMap<u32, String>, found: Qdisc) -> Option<Queue> {
    let counted = found.statistics.as_ref()?;
    let parameter = |kind: &str, name: &str| match found.kind == kind {
        true => found.parameters().get(name).copied(),
        false => None,
    };
    // Of a token bucket alone.
    let rate_bps = parameter("tbf", "rate_bps");
    let loss_ppm = parameter("netem", "loss_ppm").filter(|ppm| *ppm > 0);
    Some(Queue {
        node: node.clone(),
        device: devices.get(&found.link)?.clone(),
        bytes: counted.bytes,
        packets: counted.packets,
        drops: counted.drops,
        backlog_packets: counted.backlog_packets,
        rate_bps,
        loss_ppm,
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
