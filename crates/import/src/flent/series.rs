//! The selection of flent's series of throughput and latency, and the figures that are computed
//! from them.

use bitcost_model::study::Label;
use serde_json::Value;

use crate::Found;

/// Values at the times of the file.
pub(super) type Series = Vec<Option<f64>>;

/// The series of throughput and latency. Sums and averages that flent computes from others are not
/// included.
#[derive(Default)]
pub(super) struct Kinds {
    pub(super) upload: Vec<Series>,
    pub(super) download: Vec<Series>,
    pub(super) latency_ms: Vec<Series>,
    /// Congestion control of each flow that reports it.
    congestion: Vec<String>,
    /// True where a flow has no values.
    is_missing: bool,
}

impl Kinds {
    /// Takes a series; `about` is its description in the file.
    pub(super) fn take(&mut self, name: &str, about: &Value, values: &[Option<f64>]) {
        let lower = name.to_ascii_lowercase();
        if is_derived(&lower, about) {
            return;
        }
        let units = about["UNITS"].as_str();
        let is_rate = units.map_or(lower.contains("tcp") || lower.contains("udp"), |units| {
            units.eq_ignore_ascii_case("mbits/s")
        });
        let is_time =
            units.map_or(lower.contains("ping"), |units| units == "ms") && lower.contains("ping");
        let is_flow =
            is_rate && !is_time && (lower.contains("download") || lower.contains("upload"));
        if values.iter().all(Option::is_none) {
            self.is_missing |= is_flow;
            return;
        }
        if is_flow {
            self.congestion
                .extend(about["CONG_CONTROL"].as_str().map(str::to_owned));
        }
        match () {
            () if is_time => self.latency_ms.push(values.to_vec()),
            () if is_flow && lower.contains("download") => self.download.push(values.to_vec()),
            () if is_flow => self.upload.push(values.to_vec()),
            () => {}
        }
    }

    /// True where flows have no values and no other series has any.
    pub(super) fn is_without_traffic(&self) -> bool {
        self.is_missing && self.upload.is_empty() && self.download.is_empty()
    }

    /// Latency counts as background latency where there is traffic; then only the values during
    /// data flow are used.
    pub(super) fn figures(&self, found: &mut Found) {
        let mean = |series: &Series| {
            let known: Vec<f64> = series.iter().flatten().copied().collect();
            known.iter().sum::<f64>() / known.len() as f64
        };
        let total = |all: &[Series]| (!all.is_empty()).then(|| all.iter().map(mean).sum::<f64>());
        let (up, down) = (total(&self.upload), total(&self.download));
        found.figure("throughput_mbps", up.or(down));
        found.figure("background_throughput_mbps", down.filter(|_| up.is_some()));
        if let Some((first, others)) = self.congestion.split_first()
            && others.iter().all(|other| other == first)
        {
            found.level("congestion_control", Label::Text(first.clone()));
        }
        let has_traffic = up.or(down).is_some();
        let counts = |place: usize| !has_traffic || self.has_traffic(place);
        let values = self
            .latency_ms
            .iter()
            .flat_map(|series| series.iter().enumerate());
        let mut times: Vec<f64> = values
            .filter(|(place, _)| counts(*place))
            .filter_map(|(_, ms)| ms.map(|ms| ms * 1000.0))
            .collect();
        times.sort_by(f64::total_cmp);
        latency(
            found,
            if has_traffic {
                "background_latency"
            } else {
                "latency"
            },
            &times,
        );
    }

    /// True where a flow carries data at a place of the series.
    fn has_traffic(&self, place: usize) -> bool {
        let at = |series: &Series| {
            series
                .get(place)
                .copied()
                .flatten()
                .is_some_and(|rate| rate > 0.0)
        };
        self.upload.iter().chain(&self.download).any(at)
    }
}

/// True for series that flent computes from others, and for details of a flow (`TCP
/// upload::tcp_cwnd`). A number after the colons is the number of a flow.
fn is_derived(lower: &str, about: &Value) -> bool {
    let is_computed = about["RUNNER"].as_str().map_or_else(
        || {
            [" sum", " avg", "totals", "fairness"]
                .iter()
                .any(|word| lower.contains(word))
        },
        |runner| {
            !about["COMPUTED_LATE"].is_null()
                || runner.starts_with("Sum")
                || runner.starts_with("Average")
        },
    );
    let has_traffic = lower
        .split_once("::")
        .is_some_and(|(_, rest)| rest.parse::<u32>().is_err());
    is_computed || has_traffic
}

/// Mean and percentiles of times in µs, in order.
fn latency(found: &mut Found, name: &str, times: &[f64]) {
    let Some(longest) = times.last() else { return };
    let at = |share: f64| {
        times[((share * times.len() as f64).ceil() as usize).clamp(1, times.len()) - 1]
    };
    found.figure(
        &format!("{name}_mean_us"),
        Some(times.iter().sum::<f64>() / times.len() as f64),
    );
    for (share, suffix) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        found.figure(&format!("{name}_{suffix}_us"), Some(at(share)));
    }
    found.figure(&format!("{name}_max_us"), Some(*longest));
}
