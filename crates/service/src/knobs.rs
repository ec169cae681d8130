//! The settings of a host that the conditions of a run ask for.

use std::collections::BTreeSet;

use bitcost_model::conditions::{Conditions, Offloads};
use bitcost_model::host_settings;
use bitcost_model::protocol::Part;

/// The names of the settings that a part changes at the host that plays it.
///
/// Every field of the conditions is named here, so that a new one is judged before it is served.
pub fn knobs(part: &Part) -> BTreeSet<&str> {
    #[rustfmt::skip]
    let Conditions {
        direction,
        offloads,
        host_settings: asked,
        emulator_queue_limit,
        moderation_us,
        path_change,
        tcp_buffers,
        // Traffic, sockets and the program's own memory.
        workload: _, background: _, program: _, send_mode: _, receive_mode: _,
        message_size_bytes: _, receive_size_bytes: _, mss: _, congestion_control: _,
        send_buffer_bytes: _, receive_buffer_bytes: _, receive_low_water_bytes: _, notsent_low_water_bytes: _, mode_auto: _, search_for: _, messages_per_call: _, nodelay: _,
        cork: _, dscp: _, priority: _, waiting: _, busy_poll_us: _, receiver_delay_us: _,
        rate_bps: _, rate_of: _, message_rate: _, burst_messages: _, pacing: _, flows: _,
        stop_bytes: _, stop_messages: _, request_size_bytes: _, response_size_bytes: _,
        latency: _, delay_variation: _, transaction_rate: _, request_timeout_ms: _,
        stop_transactions: _, buffers: _, places: _, probes: _, no_cost: _,
        idle_baseline_ms: _, warmup_ms: _, duration_ms: _,
    } = &part.conditions;
    let host = direction.role_of(part.role);
    let mut knobs: BTreeSet<&str> = asked
        .iter()
        .filter(|request| request.is_of(host))
        .map(|request| request.setting.as_str())
        .collect();
    if *offloads != Offloads::AsFound {
        knobs.insert(host_settings::OFFLOADS);
    }
    if tcp_buffers.is_some() {
        knobs.insert(host_settings::SYSCTL);
    }
    if moderation_us.is_some() {
        knobs.insert("moderation");
    }
    if path_change.is_some() {
        knobs.insert("path_change");
    }
    if emulator_queue_limit.is_some() {
        knobs.insert("emulator_queue_limit");
    }
    knobs
}
