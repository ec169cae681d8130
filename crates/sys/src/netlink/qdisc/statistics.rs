//! Counters of queueing disciplines (linux/gen_stats.h, linux/rtnetlink.h).

use libc::TCA_STATS2;

use crate::netlink::message::{attribute, attributes, u32_at, u64_at};

const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
/// Packets in 64 bits (Linux 5.5).
const TCA_STATS_PKT64: u16 = 8;

/// The counters of one queueing discipline since it was created. Those of 32 bits wrap around.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that left it; 32 bits wide before Linux 5.5.
    pub packets: u64,
    /// Packets in its queue.
    pub backlog_packets: u32,
    /// Packets that it dropped.
    pub drops: u32,
}

/// The counters among the attributes of a qdisc.
pub(super) fn read(of_qdisc: &[u8]) -> Option<Statistics> {
    let mut found = Statistics::default();
    let mut wide = None;
    for (kind, value) in attributes(attribute(of_qdisc, TCA_STATS2)?) {
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
    use crate::netlink::message::Message;

    fn words(numbers: &[u32]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect()
    }

    fn of(fill: impl FnOnce(Message) -> Message) -> Option<Statistics> {
        let qdisc = Message::new(0, 0, &[]).nested(TCA_STATS2, fill);
        read(&qdisc.into_body())
    }

    fn basic(bytes: u64, packets: u32) -> Vec<u8> {
        [&bytes.to_ne_bytes()[..], &words(&[packets, 0])].concat()
    }

    #[test]
    fn counters_of_each_kernel_are_read() {
        let queue = words(&[3, 4500, 17, 1, 900]);
        let expected = Statistics {
            bytes: 5 << 32,
            packets: 99,
            backlog_packets: 3,
            drops: 17,
        };
        // Linux 4.19: packets in 32 bits only.
        let narrow = |m: Message| m.attribute(TCA_STATS_BASIC, &basic(5 << 32, 99));
        let old = of(|m| narrow(m).attribute(TCA_STATS_QUEUE, &queue));
        assert_eq!(old, Some(expected.clone()));
        // Linux 6.18: the 32 bits wrapped around once.
        let wide = ((1u64 << 32) + 99).to_ne_bytes();
        let new = of(|m| {
            let wide = narrow(m).attribute(TCA_STATS_PKT64, &wide);
            wide.attribute(TCA_STATS_QUEUE, &queue)
        });
        let packets = (1 << 32) + 99;
        assert_eq!(
            new,
            Some(Statistics {
                packets,
                ..expected
            })
        );
    }

    #[test]
    fn truncated_or_missing_counters_are_left_out() {
        assert_eq!(read(&[]), None);
        assert_eq!(of(|m| m.attribute(TCA_STATS_QUEUE, &[0; 8])), None);
    }
}
