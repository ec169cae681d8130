//! The time series of a run, second by second, and the drops on its path: as text and as JSON.

use std::fmt::Write;

use bitcost_analysis::log::TimeSeries;
use bitcost_analysis::metrics::{QueueDrops, Second};
use bitcost_model::study::phrase;
use serde_json::{Value, json};

use crate::json_parts::levels_json;
use crate::number;

/// Bytes in one of iperf3's MBytes.
const MBYTES: f64 = 1_048_576.0;

/// Lines in iperf3's format, preceded by the cell's name and followed by the drops.
pub(crate) fn time_series_text(series: &TimeSeries) -> String {
    let mut text = format!("{} (run {})\n", phrase(&series.levels), series.run + 1);
    text += "  Interval           Transfer        Bitrate         Retr  Cwnd\n";
    for second in &series.seconds {
        let _ = writeln!(text, "{}", line(second));
    }
    for (end, mbps) in ["sender", "receiver"].into_iter().zip(series.mbps) {
        if let Some(mbps) = mbps {
            let _ = writeln!(
                text,
                "  all                                {mbps:>5.0} Mbits/sec              {end}"
            );
        }
    }
    let dropped: Vec<String> = series
        .drops
        .iter()
        .filter(|queue| queue.packets > 0)
        .map(told)
        .collect();
    if !dropped.is_empty() || !series.drops.is_empty() {
        let dropped = if dropped.is_empty() {
            "nothing".to_owned()
        } else {
            dropped.join(", ")
        };
        let _ = writeln!(text, "  dropped on the path: {dropped}");
    }
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

fn told(
    QueueDrops {
        device,
        kind,
        packets,
    }: &QueueDrops,
) -> String {
    format!("{packets} packets at {device} ({kind})")
}

fn line(second: &Second) -> String {
    let Second {
        from_s,
        to_s,
        bytes,
        retransmits,
        window_bytes,
    } = second;
    let mbps = *bytes as f64 * 8.0 / 1e6 / (to_s - from_s);
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    let again = or_dash(retransmits.map(|count| count.to_string()));
    let window = or_dash(
        window_bytes.map(|bytes| format!("{} MBytes", number::plain(bytes as f64 / MBYTES))),
    );
    let transfer = number::plain(*bytes as f64 / MBYTES);
    format!(
        "  {from_s:>5.2}-{to_s:<5.2} sec  {transfer:>6} MBytes  {mbps:>6.0} Mbits/sec  {again:>5}  {window}"
    )
}

#[cfg(test)]
mod tests {
    use bitcost_model::study::Label;

    use super::*;

    #[test]
    fn seconds_look_as_iperf3_prints_them() {
        let second = Second {
            from_s: 0.0,
            to_s: 1.0,
            bytes: 59_978_547,
            retransmits: Some(1915),
            window_bytes: Some(1_184_890),
        };
        assert_eq!(
            line(&second),
            "   0.00-1.00  sec    57.2 MBytes     480 Mbits/sec   1915  1.13 MBytes"
        );
        let series = TimeSeries {
            levels: vec![("queue".into(), Label::Text("1000 packets".into()))],
            run: 3,
            seconds: vec![Second {
                retransmits: None,
                window_bytes: None,
                ..second
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
        assert!(text.starts_with("1000 packets (run 4)\n"), "{text}");
        assert!(
            text.contains("  456 Mbits/sec              receiver\n"),
            "{text}"
        );
        assert!(
            text.ends_with("dropped on the path: 1900 packets at s1-eth2 (netem)\n"),
            "{text}"
        );
    }
}
