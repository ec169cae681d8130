//! The time series of a run, second by second, and the drops on its path: as text and as JSON.

use bitcost_analysis::log::TimeSeries;
use bitcost_analysis::metrics::{QueueDrops, Second};
use bitcost_model::study::phrase;
use bitcost_model::units::KIB;
use serde_json::{Value, json};

use crate::json_parts::levels_json;
use crate::lines::Lines;
use crate::number;

/// A line per second, preceded by the cell's name and followed by the throughput of both endpoints
/// and the drops.
pub(crate) fn time_series_text(series: &TimeSeries) -> String {
    let row = |second: &Second| {
        let mbps = second.bytes as f64 * 8.0 / 1e6 / (second.to_s - second.from_s);
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let window = second
            .window_bytes
            .map(|bytes| number::plain(bytes as f64 / KIB));
        vec![
            format!("{:.2}-{:.2}", second.from_s, second.to_s),
            format!("{mbps:.0}"),
            or_dash(second.retransmits.map(|count| count.to_string())),
            or_dash(window),
        ]
    };
    let header = ["seconds", "Mbit/s", "retransmitted", "window, KiB"];
    let lines = Lines::new(header, series.seconds.iter().map(row));
    let mut text = format!("{} (run {})\n", phrase(&series.levels), series.run + 1);
    text += &lines.text(u16::MAX);
    for (end, mbps) in ["sender", "receiver"].into_iter().zip(series.mbps) {
        text.extend(mbps.map(|mbps| format!("{end}: {mbps:.0} Mbit/s\n")));
    }
    let dropped = |queue: &QueueDrops| {
        let QueueDrops {
            device,
            kind,
            packets,
        } = queue;
        (*packets > 0).then(|| format!("{packets} packets dropped at {device} ({kind})\n"))
    };
    text.extend(series.drops.iter().filter_map(dropped));
    text
}

pub(crate) fn time_series_json(series: &TimeSeries) -> Value {
    json!({
        "levels": levels_json(&series.levels),
        "run": series.run,
        "seconds": series.seconds,
        "drops": series.drops,
    })
}

#[cfg(test)]
mod tests {
    use bitcost_model::study::Label;

    use super::*;

    #[test]
    fn a_series_has_a_line_per_second_and_its_drops() {
        let series = TimeSeries {
            levels: vec![("queue".into(), Label::Text("1000 packets".into()))],
            run: 3,
            seconds: vec![Second {
                from_s: 0.0,
                to_s: 1.0,
                bytes: 59_978_547,
                retransmits: None,
                window_bytes: Some(1_184_890),
            }],
            mbps: [Some(467.0), Some(456.0)],
            retransmits: Some(1916.0),
            drops: vec![QueueDrops {
                device: "s1-eth2".into(),
                kind: "netem".into(),
                packets: 1900,
            }],
        };
        let text = time_series_text(&series);
        assert!(text.contains("| 0.00-1.00 |    480 | "), "{text}");
        let end = "receiver: 456 Mbit/s\n1900 packets dropped at s1-eth2 (netem)\n";
        assert!(text.ends_with(end), "{text}");
    }
}
