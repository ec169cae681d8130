//! Runs of one cell in two modes, and which covariate distinguishes them.

use bitcost_stats::{SeparatedRanges, TwoModes, separated_ranges, two_modes};

use crate::explain::figures::RunFigures;
use crate::metrics::CORE_TO_CORE;

/// Modes that are closer than this share of the higher one are not reported.
const GAP_MIN: f64 = 0.03;

/// The CPU share in per cent from which the CPU is full: netperf prints it as 100.00.
const FULL_PCT: f64 = 99.995;

/// Figures that may distinguish modes and are no other form of the throughput; those of CPUs come
/// first.
const COVARIATES: [&str; 18] = [
    CORE_TO_CORE,
    "receiver_peak_cpu_pct",
    "sender_peak_cpu_pct",
    "receiver_cpu_util_pct",
    "sender_cpu_util_pct",
    "receiver_thread_wait_pct",
    "sender_thread_wait_pct",
    "other_cpu_pct",
    "receiver_wakeups_per_message",
    "sender_wakeups_per_message",
    "receiver_involuntary_switches_per_second",
    "sender_involuntary_switches_per_second",
    "bytes_per_receive_call",
    "segments_per_message",
    "segment_size_bytes",
    "retransmits",
    "rtt_us",
    "loss_pct",
];

/// A cell in two modes.
#[derive(Clone, Debug, PartialEq)]
pub struct Modality {
    /// The figure that has the modes.
    pub metric: &'static str,
    /// The modes, by the indices of their runs.
    pub modes: TwoModes,
    /// Numbers of the runs in the lower mode ([`RunFigures::run`]).
    pub low_runs: Vec<u64>,
    /// Numbers of the runs in the higher mode.
    pub high_runs: Vec<u64>,
    /// Covariates whose ranges do not overlap; one that is full in only one mode comes first.
    pub covariates: Vec<Covariate>,
}

/// A figure that distinguishes the modes.
#[derive(Clone, Debug, PartialEq)]
pub struct Covariate {
    /// Its name.
    pub name: &'static str,
    /// Its ranges.
    pub apart: SeparatedRanges,
}

impl Covariate {
    /// True where a CPU is full in all runs of one mode, and in none of the other.
    pub fn is_full_in_one(&self) -> bool {
        let SeparatedRanges { low, high } = self.apart;
        let full = |range: (f64, f64)| range.0 >= FULL_PCT;
        self.name.ends_with("_peak_cpu_pct") && full(low) != full(high)
    }
}

/// The modes of a cell's throughput, if it has two.
pub fn modality(runs: &[RunFigures], seed: u64) -> Option<Modality> {
    let metric = if runs.iter().all(|run| run.get("throughput_mbps").is_some()) {
        "throughput_mbps"
    } else {
        "transactions_per_second"
    };
    let of = |name: &str| {
        runs.iter()
            .map(|run| run.get(name))
            .collect::<Option<Vec<f64>>>()
    };
    let modes = two_modes(&of(metric)?, seed)?;
    if modes.high_mean - modes.low_mean < GAP_MIN * modes.high_mean {
        return None;
    }
    let covariate = |name: &'static str| {
        Some(Covariate {
            name,
            apart: separated_ranges(&of(name)?, &modes)?,
        })
    };
    let mut covariates: Vec<Covariate> = COVARIATES.into_iter().filter_map(covariate).collect();
    covariates.sort_by_key(|covariate| !covariate.is_full_in_one());
    let numbers = |picked: &[usize]| {
        let mut numbers: Vec<u64> = picked.iter().map(|index| runs[*index].run).collect();
        numbers.sort_unstable();
        numbers
    };
    Some(Modality {
        metric,
        low_runs: numbers(&modes.low),
        high_runs: numbers(&modes.high),
        modes,
        covariates,
    })
}
