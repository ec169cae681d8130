//! The path between two nodes, and its effect on packets: rate, delay, round trip, bandwidth-delay
//! product.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{End, NodeKind, Topology};
use crate::units::bdp_bytes;

/// The path from one node to another with the fewest links.
#[derive(Debug, Clone)]
pub struct Path<'a> {
    /// The devices by which packets leave in the forward direction, in their order.
    pub there: Vec<&'a End>,
    /// The devices by which packets leave in the reverse direction, the far node's first.
    pub back: Vec<&'a End>,
    /// The smallest MTU on the path, in bytes.
    pub mtu_bytes: u32,
}

impl Topology {
    /// The path between two nodes; `None` where there is none. Hosts do not forward.
    pub fn path(&self, from: &str, to: &str) -> Option<Path<'_>> {
        let mut came: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        let mut queue = VecDeque::from([from]);
        while let Some(here) = queue.pop_front() {
            if here == to {
                break;
            }
            if here != from
                && self
                    .node(here)
                    .is_none_or(|node| node.kind == NodeKind::Host)
            {
                continue;
            }
            for (index, link) in self.links.iter().enumerate() {
                let Some(side) = link.ends.iter().position(|end| end.node == here) else {
                    continue;
                };
                let next = link.ends[1 - side].node.as_str();
                if next != from && !came.contains_key(next) {
                    came.insert(next, (index, side));
                    queue.push_back(next);
                }
            }
        }
        let mut path = Path {
            there: Vec::new(),
            back: Vec::new(),
            mtu_bytes: u32::MAX,
        };
        let mut here = to;
        while here != from {
            let (index, side) = came.get(here)?;
            let link = &self.links[*index];
            path.there.push(&link.ends[*side]);
            path.back.push(&link.ends[1 - side]);
            path.mtu_bytes = path.mtu_bytes.min(link.mtu_bytes);
            here = &link.ends[*side].node;
        }
        path.there.reverse();
        Some(path)
    }
}

impl Path<'_> {
    /// The smallest rate in the forward direction, in bit/s; `None` where nothing limits it.
    pub fn rate_bps(&self) -> Option<u64> {
        self.there
            .iter()
            .filter_map(|end| end.egress.rate_bps)
            .min()
    }

    /// The sum of the delays in the forward direction, in microseconds.
    pub fn delay_us(&self) -> u64 {
        self.there.iter().map(|end| end.egress.delay_us).sum()
    }

    fn both_ways(&self) -> impl Iterator<Item = &End> {
        self.there.iter().chain(&self.back).copied()
    }

    /// The sum of the delays in both directions, in microseconds: the requested round trip.
    pub fn rtt_us(&self) -> u64 {
        self.both_ways().map(|end| end.egress.delay_us).sum()
    }

    /// The most by which the requested jitter may change the round trip to either side, in
    /// microseconds.
    pub fn jitter_us(&self) -> u64 {
        self.both_ways().map(|end| end.egress.jitter_us).sum()
    }

    /// The bandwidth-delay product in bytes: rate × round trip; `None` where either is not
    /// requested.
    pub fn bdp_bytes(&self) -> Option<u64> {
        let bytes = bdp_bytes(self.rate_bps()?, Duration::from_micros(self.rtt_us()));
        Some(bytes).filter(|bytes| *bytes > 0)
    }
}
