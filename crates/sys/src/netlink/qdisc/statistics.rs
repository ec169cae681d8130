//! Counters of queueing disciplines (linux/gen_stats.h, linux/rtnetlink.h).

use libc::{RTM_GETQDISC, RTM_NEWQDISC, TCA_KIND, TCA_OPTIONS, TCA_STATS2};

use super::disciplines::tbf_rate_bps;
use super::traffic_header;
use crate::netlink::error::Error;
use crate::netlink::message::{Message, Reply, attribute, attributes, text, u32_at, u64_at};
use crate::netlink::rtnl::Rtnl;

const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
/// Packets in 64 bits (Linux 5.5).
const TCA_STATS_PKT64: u16 = 8;

/// The counters of one queueing discipline since it was created. Those of 32 bits wrap around.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The number of its link.
    pub link: u32,
    /// Its kind, such as "fq".
    pub kind: String,
    /// Its handle, major number in the upper 16 bits.
    pub handle: u32,
    /// Its parent class; [`super::ROOT`] is the root.
    pub parent: u32,
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that left it; 32 bits wide before Linux 5.5.
    pub packets: u64,
    /// Packets in its queue.
    pub backlog_packets: u32,
    /// Packets that it dropped.
    pub drops: u32,
    /// The rate that it keeps, in bit/s; known of a token bucket (tbf) alone.
    pub rate_bps: Option<u64>,
}

impl Rtnl {
    /// The counters of every qdisc of this namespace.
    pub fn qdisc_statistics(&mut self) -> Result<Vec<Statistics>, Error> {
        let message = Message::new(RTM_GETQDISC, 0, &traffic_header(0, 0, 0));
        let answer = self
            .connection
            .dump("read the counters of the qdiscs", message)?;
        Ok(answer.iter().filter_map(read).collect())
    }
}

pub(crate) fn read(reply: &Reply) -> Option<Statistics> {
    if reply.kind != RTM_NEWQDISC {
        return None;
    }
    let body = reply.payload.get(20..)?;
    let kind = attribute(body, TCA_KIND).map(text)?;
    let rate_bps = attribute(body, TCA_OPTIONS)
        .filter(|_| kind == "tbf")
        .and_then(tbf_rate_bps);
    let mut found = Statistics {
        link: u32_at(&reply.payload, 4)?,
        kind,
        rate_bps,
        handle: u32_at(&reply.payload, 8)?,
        parent: u32_at(&reply.payload, 12)?,
        ..Statistics::default()
    };
    let mut wide = None;
    for (kind, value) in attributes(attribute(body, TCA_STATS2)?) {
        match kind {
            TCA_STATS_BASIC => {
                (found.bytes, found.packets) = (u64_at(value, 0)?, u32_at(value, 8)?.into())
            }
            TCA_STATS_PKT64 => wide = u64_at(value, 0),
            TCA_STATS_QUEUE => {
                found.backlog_packets = u32_at(value, 0)?;
                found.drops = u32_at(value, 8)?;
            }
            _ => {}
        }
    }
    Some(Statistics {
        packets: wide.unwrap_or(found.packets),
        ..found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netlink::message::replies;

    fn words(numbers: &[u32]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect()
    }

    /// A reply about the root qdisc 8001: of link 7 with what `fill` adds.
    fn reply(fill: impl FnOnce(Message) -> Message) -> Reply {
        let header = traffic_header(7, 0x8001_0000, super::super::ROOT);
        let message = fill(Message::new(RTM_NEWQDISC, 0, &header).attribute_text(TCA_KIND, "tbf"));
        replies(&message.finish(0, 0).unwrap()).remove(0)
    }

    fn basic(bytes: u64, packets: u32) -> Vec<u8> {
        [&bytes.to_ne_bytes()[..], &words(&[packets, 0])].concat()
    }

    #[test]
    fn counters_of_each_kernel_are_read() {
        let queue = words(&[3, 4500, 17, 1, 900]);
        let expected = Statistics {
            link: 7,
            kind: "tbf".to_owned(),
            handle: 0x8001_0000,
            parent: super::super::ROOT,
            bytes: 5 << 32,
            packets: 99,
            backlog_packets: 3,
            drops: 17,
            rate_bps: None,
        };
        // Linux 4.19: packets in 32 bits only.
        let stats2 = |m: Message| {
            m.nested(TCA_STATS2, |m| {
                m.attribute(TCA_STATS_BASIC, &basic(5 << 32, 99))
                    .attribute(TCA_STATS_QUEUE, &queue)
            })
        };
        assert_eq!(read(&reply(stats2)), Some(expected.clone()));
        // Linux 6.18: the 32 bits wrapped around once.
        let wide = |m: Message| {
            m.nested(TCA_STATS2, |m| {
                m.attribute(TCA_STATS_BASIC, &basic(5 << 32, 99))
                    .attribute(TCA_STATS_PKT64, &((1u64 << 32) + 99).to_ne_bytes())
                    .attribute(TCA_STATS_QUEUE, &queue)
            })
        };
        assert_eq!(
            read(&reply(wide)),
            Some(Statistics {
                packets: (1 << 32) + 99,
                ..expected
            })
        );
    }

    #[test]
    fn truncated_or_missing_counters_are_left_out() {
        assert_eq!(read(&reply(|m| m)), None);
        assert_eq!(
            read(&reply(
                |m| m.nested(TCA_STATS2, |m| m.attribute(TCA_STATS_QUEUE, &[0; 8]))
            )),
            None
        );
    }
}
