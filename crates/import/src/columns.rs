//! Names of columns that programs use, and the metrics that they are.

use model::study::Label;

use crate::Found;

/// What a column holds.
#[derive(Clone, Copy)]
enum Is {
    /// A metric of ours.
    Metric(&'static str),
    /// A bit rate in the units that the row names, else Mbit/s.
    Rate(&'static str),
    /// A service demand in the units that the row names, else µs/KiB.
    Demand(&'static str),
    /// A number that was set.
    Setting(&'static str),
    /// A word that was set.
    Word(&'static str),
}

use Is::{Demand, Metric, Rate, Setting, Word};

/// netperf's omni selectors, the words that it prints for them, and names of columns in files made from them; all in the form
/// of [`plain`].
const COLUMNS: &[(&str, Is)] = &[
    ("throughput", Rate("throughput_mbps")),
    ("remote_recv_throughput", Rate("throughput_mbps")),
    ("local_recv_throughput", Rate("throughput_mbps")),
    ("local_send_throughput", Rate("send_throughput_mbps")),
    ("remote_send_throughput", Rate("send_throughput_mbps")),
    ("local_cpu_util", Metric("sender_cpu_util_pct")),
    ("remote_cpu_util", Metric("receiver_cpu_util_pct")),
    ("local_cpu_peak_util", Metric("sender_peak_cpu_pct")),
    ("local_peak_per_cpu_util", Metric("sender_peak_cpu_pct")),
    ("remote_cpu_peak_util", Metric("receiver_peak_cpu_pct")),
    ("remote_peak_per_cpu_util", Metric("receiver_peak_cpu_pct")),
    ("local_sd", Demand("netperf_send_service_demand_us_per_kib")),
    ("local_service_demand", Demand("netperf_send_service_demand_us_per_kib")),
    ("remote_sd", Demand("netperf_receive_service_demand_us_per_kib")),
    ("remote_service_demand", Demand("netperf_receive_service_demand_us_per_kib")),
    ("transaction_rate", Metric("transactions_per_second")),
    ("mean_latency", Metric("latency_mean_us")),
    ("p50_latency", Metric("latency_p50_us")),
    ("p90_latency", Metric("latency_p90_us")),
    ("p99_latency", Metric("latency_p99_us")),
    ("max_latency", Metric("latency_max_us")),
    ("mean_latency_microseconds", Metric("latency_mean_us")),
    ("50th_percentile_latency_microseconds", Metric("latency_p50_us")),
    ("90th_percentile_latency_microseconds", Metric("latency_p90_us")),
    ("99th_percentile_latency_microseconds", Metric("latency_p99_us")),
    ("maximum_latency_microseconds", Metric("latency_max_us")),
    ("local_transport_retrans", Metric("retransmits")),
    ("local_transport_retransmissions", Metric("retransmits")),
    ("local_send_size", Setting("message_size_bytes")),
    ("transport_mss", Setting("mss_bytes")),
    ("local_segment_size", Setting("mss_bytes")),
    ("request_size", Setting("request_size_bytes")),
    ("request_size_bytes", Setting("request_size_bytes")),
    ("response_size", Setting("response_size_bytes")),
    ("response_size_bytes", Setting("response_size_bytes")),
    ("protocol", Word("protocol")),
    ("direction", Word("direction")),
    ("result_brand", Word("brand")),
    ("result_tag", Word("brand")),
];

/// A name in lower case, words joined by `_`: `Local CPU Util %` is `local_cpu_util`.
pub(crate) fn plain(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// True where a name is that of a known column.
pub(crate) fn is_known(name: &str) -> bool {
    let name = plain(name);
    COLUMNS.iter().any(|(known, _)| *known == name)
}

/// Takes a row: known columns become metrics and levels, all become facts. Where the row has a figure of the delivered rate of
/// its own, the general one does not stand in for it.
pub(crate) fn take(found: &mut Found, row: &[(String, String)]) {
    let of =
        |wanted: &[&str]| row.iter().find(|(name, _)| wanted.contains(&name.as_str())).map(|(_, value)| value.as_str());
    let rate_units = of(&["throughput_units"]).unwrap_or("10^6bits/s");
    let demand_units = of(&["sd_units", "service_demand_units"]).unwrap_or("usec/KB");
    let sending = of(&["direction"]).is_none_or(|direction| direction.to_ascii_lowercase().starts_with("send"));
    let specific = row.iter().any(|(name, value)| {
        let end = if sending { "remote_recv_throughput" } else { "local_recv_throughput" };
        name == end && number(value).is_some()
    });
    for (name, value) in row {
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        found.fact(name, value);
        let known = COLUMNS.iter().find(|(known, _)| known == name).map(|(_, is)| *is);
        match known {
            Some(Rate(_)) if name == "throughput" && specific => {}
            Some(Rate(metric)) if name.starts_with("local_send") || name.starts_with("remote_recv") => {
                found.figure(metric, number(value).filter(|_| sending).and_then(|rate| mbps(rate, rate_units)));
            }
            Some(Rate(metric)) if name.starts_with("local_recv") || name.starts_with("remote_send") => {
                found.figure(metric, number(value).filter(|_| !sending).and_then(|rate| mbps(rate, rate_units)));
            }
            Some(Rate(_)) => rate(found, number(value), rate_units),
            Some(Metric(metric)) => found.figure(turned(metric, sending), number(value)),
            Some(Demand(metric)) if demand_units.starts_with("usec/K") => {
                found.figure(turned(metric, sending), number(value));
            }
            Some(Setting(factor)) => {
                if let Ok(whole) = value.parse::<i64>()
                    && whole >= 0
                {
                    found.level(factor, Label::Number(whole));
                }
            }
            Some(Word(factor)) => found.level(factor, Label::Text(value.to_owned())),
            Some(Demand(_)) | None => {}
        }
    }
}

/// The general figure: bits of a stream, or transactions.
fn rate(found: &mut Found, value: Option<f64>, units: &str) {
    match value {
        Some(rate) if units.starts_with("Trans") => found.figure("transactions_per_second", Some(rate)),
        Some(rate) => found.figure("throughput_mbps", mbps(rate, units)),
        None => {}
    }
}

/// netperf calls its own end local, which receives where the data comes from the other.
fn turned(metric: &'static str, sending: bool) -> &'static str {
    const PAIRS: [(&str, &str); 3] = [
        ("sender_cpu_util_pct", "receiver_cpu_util_pct"),
        ("sender_peak_cpu_pct", "receiver_peak_cpu_pct"),
        ("netperf_send_service_demand_us_per_kib", "netperf_receive_service_demand_us_per_kib"),
    ];
    let other = PAIRS.iter().find_map(|(a, b)| match metric {
        _ if metric == *a => Some(*b),
        _ if metric == *b => Some(*a),
        _ => None,
    });
    if sending { metric } else { other.unwrap_or(metric) }
}

/// A number that was measured: not below 0, which stands for *not measured*.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// A rate in Mbit/s; absent where its units are not known.
pub(crate) fn mbps(rate: f64, units: &str) -> Option<f64> {
    const UNITS: &[(&str, f64)] = &[
        ("10^3bits", 1e-3),
        ("10^6bits", 1.0),
        ("10^9bits", 1e3),
        ("kbits", 1e-3),
        ("mbits", 1.0),
        ("gbits", 1e3),
        ("kbytes", 8.0 * 1024.0 / 1e6),
        ("mbytes", 8.0 * 1_048_576.0 / 1e6),
        ("gbytes", 8.0 * 1_073_741_824.0 / 1e6),
        ("bytes", 8.0 / 1e6),
        ("bits", 1e-6),
    ];
    let units = units.trim().to_ascii_lowercase();
    UNITS.iter().find(|(known, _)| units.starts_with(known)).map(|(_, factor)| rate * factor)
}
