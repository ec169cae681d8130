//! The table of changes: what takes some of a resource away, and what relaxes a bottleneck.

use super::base::Base;
use super::change::{CONGESTION, FLOWS, Kind, LARGER_RECEIVE, LARGER_SEND, Offer, Row, WAITING};
use super::{buffers, calls, hosts, path, tighten};

/// Limiters that less CPU time for a KiB relaxes.
const CPU: &[&str] = &[
    "sender_cpu",
    "receiver_cpu",
    "packets_per_second",
    "wake_ups",
    "cpu_quota",
    "slow_reader",
];

/// Limiters that fewer losses, or a better answer to them, relax.
const LOSS: &[&str] = &[
    "congestion_window_loss",
    "path_loss",
    "queue_overflow",
    "udp_receive_buffer",
];

const fn more(
    name: &'static str,
    of: &'static [&'static str],
    offers: fn(&Base) -> Vec<Offer>,
) -> Row {
    Row {
        name,
        of,
        kind: Kind::Relaxes(offers),
        grows: None,
    }
}

/// Every change, with the limiters that it is about. Within a stage changes are tried in this order.
#[rustfmt::skip]
pub static CHANGES: [Row; 31] = [
    tighten::SENDER,
    tighten::RECEIVER,
    tighten::PATH,
    tighten::RECEIVE_BUFFER,
    tighten::SEND_BUFFER,
    tighten::SMALLER_SEGMENTS,
    tighten::MESSAGE_RATE,
    more("selective_acknowledgements", LOSS, |base| hosts::sysctl(base, "tcp_sack", |is| is == "0", "1")),
    more("congestion_marks", &["congestion_window_marks"], |base| hosts::sysctl(base, "tcp_ecn", |is| is == "1", "2")),
    more("window_scaling", &["receive_buffer"], |base| hosts::sysctl(base, "tcp_window_scaling", |is| is == "0", "1")),
    more("receive_autotuning", &["receive_buffer"], |base| hosts::sysctl(base, "tcp_moderate_rcvbuf", |is| is == "0", "1")),
    more("window_after_pauses", &["congestion_window_slow_start"], hosts::window_after_pauses),
    more("bursts", &["queue_overflow", "path_loss", "udp_receive_buffer"], calls::no_bursts),
    more("reassembly", LOSS, hosts::reassembly),
    Row {
        grows: Some(|load| load.window_bytes.or(load.receive_buffer_bytes)),
        ..more(LARGER_RECEIVE, &["receive_buffer", "udp_receive_buffer", "slow_reader"], buffers::larger_receive)
    },
    Row {
        grows: Some(|load| load.queued_bytes),
        ..more(LARGER_SEND, &["send_buffer"], buffers::larger_send)
    },
    more(CONGESTION,
        &["congestion_window_loss", "path_loss", "queue_overflow"],
        path::congestion_controls),
    more("room_for_headers", &["fragments"], hosts::room_for_headers),
    more("queue_limit", &["queue_overflow", "path_loss", "congestion_window_loss"], path::queue_limits),
    more("offloads", CPU, hosts::offloads),
    more("super_datagrams", &["sender_cpu", "receiver_cpu", "packets_per_second"], calls::super_datagrams),
    more("message_size", CPU, calls::larger_messages),
    more("gather", &["sender_cpu", "receiver_cpu", "packets_per_second", "wake_ups"], |base| calls::calls(base, &["cork", "notsent_low_water_bytes"])),
    more("send_mode", &["sender_cpu", "packets_per_second", "wake_ups"], |base| calls::calls(base, &["send_mode"])),
    more("receive_mode",
        &["receiver_cpu", "packets_per_second", "wake_ups", "cpu_quota", "slow_reader"],
        |base| calls::calls(base, &["receive_mode"])),
    more("receive_size", &["receiver_cpu", "wake_ups", "slow_reader", "cpu_quota"], |base| calls::calls(base, &["receive_size_bytes", "receive_low_water_bytes"])),
    more("small_receive_buffer", CPU, |base| calls::calls(base, &["receive_buffer_bytes"])),
    more(FLOWS,
        &["sender_cpu", "receiver_cpu", "receive_buffer", "send_buffer",
          "congestion_window_loss", "queue_overflow", "path_loss", "latency", "competing_traffic"],
        calls::more_flows),
    more(WAITING, &["wake_ups", "latency"], calls::waiting),
    more("cpus", &["sender_cpu", "receiver_cpu", "packets_per_second", "wake_ups", "cpu_quota", "slow_reader", "udp_receive_buffer"], hosts::cpus),
    more("larger_segments", &["packets_per_second", "sender_cpu", "receiver_cpu"], hosts::segments),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::LIMITERS;

    #[test]
    fn changes_are_of_limiters_that_exist() {
        for row in &CHANGES {
            for name in row.of {
                let mut known = LIMITERS.iter();
                assert!(
                    known.any(|limiter| limiter.name == *name),
                    "{}: {name}",
                    row.name
                );
            }
        }
    }
}
