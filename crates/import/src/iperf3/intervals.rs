//! The intervals of a test.

use std::collections::BTreeMap;

use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::Role;
use serde_json::Value;

use super::per_stream::mean;
use crate::Found;
use crate::lenient::measured;

/// Sums over the streams; means over them for round-trip time and congestion window.
pub(super) fn take(found: &mut Found, list: &Value) {
    for interval in list.as_array().into_iter().flatten() {
        let streams = &interval["streams"];
        let sum = if interval["sum"].is_object() {
            &interval["sum"]
        } else {
            &streams[0]
        };
        if sum["omitted"].as_bool() == Some(true) {
            continue;
        }
        let (Some(begin_s), Some(end_s)) = (measured(&sum["start"]), measured(&sum["end"])) else {
            continue;
        };
        let end = if sum["sender"].as_bool() == Some(false) {
            Role::Receiver
        } else {
            Role::Sender
        };
        let mut figures = BTreeMap::new();
        let mut add = |name: &str, value: Option<f64>| {
            figures.extend(
                value
                    .filter(|value| value.is_finite())
                    .map(|value| (name.to_owned(), value)),
            );
        };
        add(
            "throughput_mbps",
            measured(&sum["bits_per_second"]).map(|bits| bits / 1e6),
        );
        add("retransmits", measured(&sum["retransmits"]));
        add("loss_pct", measured(&sum["lost_percent"]));
        add(
            "jitter_us",
            measured(&sum["jitter_ms"]).map(|ms| ms * 1000.0),
        );
        add("rtt_us", mean(streams, |stream| &stream["rtt"]));
        add(
            "congestion_window_bytes",
            mean(streams, |stream| &stream["snd_cwnd"]),
        );
        found.run.intervals.push(ImportedInterval {
            end,
            begin_s,
            end_s,
            figures,
        });
    }
}
