//! The two regimes of a cell as data.

use bitcost_analysis::explain::{Group, Regime, Regimes};
use schemars::JsonSchema;
use serde::Serialize;

/// One of two regimes of a cell: medians of its runs, or of parts of runs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RegimeOfCell {
    /// What its packets carry, and what limited them, in words.
    regime: String,
    /// The runs that are wholly of it, by their place in the order, from 0.
    runs: Vec<u64>,
    /// Its share of the time of all runs, in per cent.
    time_pct: f64,
    /// Throughput, in Mbit/s.
    throughput_mbps: f64,
    /// CPU time of the sender, in µs/KiB.
    send_service_demand_us_per_kib: Option<f64>,
    /// CPU time of the receiver, in µs/KiB.
    receive_service_demand_us_per_kib: Option<f64>,
    /// User data per packet in the sender's stack, in bytes.
    sender_bytes_per_packet: f64,
    /// Share of the busy time that the receive window limited, in per cent.
    receive_window_limited_pct: Option<f64>,
    /// Share of the busy time that the send buffer limited, in per cent.
    send_buffer_limited_pct: Option<f64>,
}

pub(crate) fn of_cell(found: &Regimes) -> Vec<RegimeOfCell> {
    let regime = |group: &Group| {
        let Regime {
            mbps,
            costs: [send, receive],
            bytes_per_packet,
            window_limited,
            buffer_limited,
            ..
        } = group.regime;
        RegimeOfCell {
            regime: group.regime.words(),
            runs: group.runs.iter().map(|run| run - 1).collect(),
            time_pct: 100.0 * group.share,
            throughput_mbps: mbps,
            send_service_demand_us_per_kib: send,
            receive_service_demand_us_per_kib: receive,
            sender_bytes_per_packet: bytes_per_packet,
            receive_window_limited_pct: window_limited.map(|share| 100.0 * share),
            send_buffer_limited_pct: buffer_limited.map(|share| 100.0 * share),
        }
    };
    found.groups.iter().map(regime).collect()
}
