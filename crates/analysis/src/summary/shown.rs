//! Which metrics of a summary are shown.

use super::known::Summary;
use crate::cells::{CellSummary, RECEIVE_DEMAND};
use crate::metrics::{Metric, metric};

/// The metrics of a study without a list of metrics.
const DEFAULT_METRICS: [&str; 3] = [
    "throughput_mbps",
    "send_service_demand_us_per_kib",
    RECEIVE_DEMAND,
];

/// The loss of datagrams is shown beside their cost from this share on, in per cent.
const LOSS_PCT: f64 = 1.0;

/// The metrics of how many segments a packet carries, which have tables wherever they were
/// measured.
const SEGMENTS_PER_PACKET: [&str; 3] = [
    "sender_segments_per_packet",
    "sender_interface_segments_per_packet",
    "receiver_segments_per_packet",
];

pub fn shown_metrics(summary: &Summary) -> Vec<&str> {
    let requested = summary.study.table.metrics.iter();
    let mut shown: Vec<&str> = requested.map(String::as_str).collect();
    if shown.is_empty() {
        shown = DEFAULT_METRICS.to_vec();
    }
    let lost = |cell: &CellSummary| cell.figure("loss_pct").map(|lost| lost.value);
    let loses = summary.cells.iter().any(|cell| lost(cell) > Some(LOSS_PCT));
    if loses && shown.contains(&RECEIVE_DEMAND) && !shown.contains(&"loss_pct") {
        shown.push("loss_pct");
    }
    shown
}

/// The shown metrics that a used run has.
pub fn measured(summary: &Summary) -> Vec<&'static Metric> {
    let shown = shown_metrics(summary).into_iter().filter_map(metric);
    shown.filter(|metric| summary.has(metric.name)).collect()
}

/// The metrics that have tables: those that are shown, and, where they are known, the segments per packet.
pub fn tabled_metrics(summary: &Summary) -> Vec<&str> {
    let mut metrics = shown_metrics(summary);
    for name in SEGMENTS_PER_PACKET {
        if summary.has(name) && !metrics.contains(&name) {
            metrics.push(name);
        }
    }
    metrics
}
