//! A run second by second, at the sender, as iperf3 prints it.

use bitcost_model::record::{EndpointRecord, Sample};
use bitcost_model::units::bits_per_second;

use crate::metrics::view::RunView;
use serde::Serialize;

/// One second of a run; the last one may be shorter.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Second {
    /// Its start, in seconds from the first sample on.
    pub from_s: f64,
    /// Its end, in seconds from the first sample on.
    pub to_s: f64,
    /// User data that the send calls took in it, in bytes.
    pub bytes: u64,
    /// Retransmitted segments in this second; absent where the kernel does not report them.
    pub retransmits: Option<u64>,
    /// Congestion window at its end, in bytes; absent where the kernel does not report it.
    pub window_bytes: Option<u64>,
}

impl Second {
    pub fn mbps(&self) -> f64 {
        bits_per_second(self.bytes, self.to_s - self.from_s) / 1e6
    }
}

/// The seconds of a run, each between the samples nearest to its bounds.
pub fn seconds(run: &RunView) -> Vec<Second> {
    let EndpointRecord { samples, .. } = run.sender;
    let (Some(first), Some(last)) = (samples.first(), samples.last()) else {
        return Vec::new();
    };
    let length_ns = last.at_ns.saturating_sub(first.at_ns);
    // A remainder of under half a second belongs to the second before it.
    let count = ((length_ns as f64 / 1e9).round() as u64).max(1);
    let bound = |number: u64| {
        let at_ns = if number == count {
            last.at_ns
        } else {
            first.at_ns + number * 1_000_000_000
        };
        samples
            .iter()
            .min_by_key(|sample| sample.at_ns.abs_diff(at_ns))
    };
    let second = |number| Some(between(first, bound(number)?, bound(number + 1)?));
    (0..count)
        .filter_map(second)
        .filter(|second| second.to_s > second.from_s)
        .collect()
}

fn between(first: &Sample, begin: &Sample, end: &Sample) -> Second {
    let at_s = |sample: &Sample| (sample.at_ns - first.at_ns) as f64 / 1e9;
    let again = |sample: &Sample| sample.tcp_info.as_ref()?.total_retrans;
    let window = || {
        let info = end.tcp_info.as_ref()?;
        Some(u64::from(info.snd_cwnd_segments?) * u64::from(info.snd_mss_bytes?))
    };
    Second {
        from_s: at_s(begin),
        to_s: at_s(end),
        bytes: end.counts.bytes.saturating_sub(begin.counts.bytes),
        retransmits: again(end)
            .zip(again(begin))
            .map(|(now, then)| now.wrapping_sub(then).into()),
        window_bytes: window(),
    }
}
