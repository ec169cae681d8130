//! The table of interventions: one row each, and one file for those of a kind.

mod buffers;
mod calls;
mod congestion;
mod interface;
mod placement;
mod queues;
mod receiving;

use super::intervention::{CPU, Intervention, row};

/// The name of the row of more flows.
pub const FLOWS: &str = "flows";

/// Every intervention, with the limiters that it may relax. Within a stage changes are tried in this order.
#[rustfmt::skip]
pub static INTERVENTIONS: [Intervention; 18] = [
    row("receive_buffer", &["receive_buffer", "udp_receive_buffer", "slow_reader"], buffers::larger_receive),
    row("send_buffer", &["send_buffer"], buffers::larger_send),
    row("congestion_control",
        &["congestion_window_loss", "congestion_window_slow_start", "path_loss", "queue_overflow", "rate"],
        congestion::others),
    row("queue_limit", &["queue_overflow", "path_loss", "congestion_window_loss", "rate"], queues::limits),
    row("offloads", CPU, interface::offloads),
    row("small_receive_buffer", CPU, buffers::smaller_receive),
    row("message_size", CPU, calls::larger_messages),
    row("gather", &["sender_cpu", "receiver_cpu", "packets_per_second", "wake_ups"], calls::gather),
    row("send_mode", &["sender_cpu", "packets_per_second", "wake_ups"], calls::send_modes),
    row("receive_mode",
        &["receiver_cpu", "packets_per_second", "wake_ups", "cpu_quota", "slow_reader"],
        calls::receive_modes),
    row("receive_size", &["receiver_cpu", "wake_ups", "slow_reader", "cpu_quota"], calls::larger_receive_calls),
    row(FLOWS,
        &["sender_cpu", "receiver_cpu", "receive_buffer", "send_buffer", "congestion_window_clamp",
          "congestion_window_loss", "queue_overflow", "path_loss", "latency"],
        calls::more_flows),
    row("waiting", &["wake_ups", "latency", "receiver_cpu"], calls::polling),
    row("cpus", CPU, placement::cpus),
    row("moderation", CPU, queues::moderation),
    row("receiving", CPU, receiving::elsewhere),
    row("super_packets", &["sender_cpu", "receiver_cpu"], interface::super_packets),
    row("segments", &["packets_per_second", "sender_cpu", "receiver_cpu"], interface::segments),
];
