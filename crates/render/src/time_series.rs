//! The time series of a run, second by second, and the drops on its path.

use bitcost_analysis::log::TimeSeries;
use bitcost_analysis::metrics::{QueueDrops, Second};
use bitcost_model::study::phrase;
use bitcost_model::units::KIB;

use crate::block::Block;
use crate::lines::Lines;
use crate::number;

/// A line per second under the cell's name, and the throughput of both endpoints and the drops.
pub(crate) fn time_series(series: &TimeSeries) -> Vec<Block> {
    let row = |second: &Second| {
        let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let window = second.window_bytes.map(|bytes| bytes as f64 / KIB);
        vec![
            format!("{:.2}-{:.2}", second.from_s, second.to_s),
            format!("{:.0}", second.mbps()),
            or_dash(second.retransmits.map(|count| count.to_string())),
            or_dash(window.map(number::plain)),
        ]
    };
    let header = ["seconds", "Mbit/s", "retransmitted", "window, KiB"];
    let lines = Lines::new(header, series.seconds.iter().map(row));
    let name = format!("{} (run {})", phrase(&series.levels), series.run + 1);
    let ends = ["sender", "receiver"].into_iter().zip(series.mbps);
    let ends = ends.filter_map(|(end, mbps)| Some(format!("{end}: {:.0} Mbit/s", mbps?)));
    let drops = series.drops.iter().filter(|queue| queue.packets > 0);
    let drops = drops.map(
        |QueueDrops {
             device,
             kind,
             packets,
         }| format!("{packets} packets dropped at {device} ({kind})"),
    );
    std::iter::once(Block::Table(name, lines))
        .chain(ends.chain(drops).map(Block::words))
        .collect()
}

#[cfg(test)]
mod tests {
    use bitcost_model::study::Label;

    use super::*;
    use crate::block::text;
    use crate::layout::TextOptions;

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
            drops: vec![QueueDrops {
                device: "s1-eth2".into(),
                kind: "netem".into(),
                packets: 1900,
            }],
        };
        let text = text(&time_series(&series), TextOptions::default());
        assert!(text.contains("| 0.00-1.00 |    480 | "), "{text}");
        let end = "receiver: 456 Mbit/s\n1900 packets dropped at s1-eth2 (netem)\n";
        assert!(text.ends_with(end), "{text}");
    }
}
