//! The results: every run of every contender, and ratios of them.

use bitcost_stats::{Interval, ratio_interval};

use super::cases::Case;
use super::field::Setup;
use super::figure::Figure;

/// Seed of every interval, so that the same figures give the same interval.
pub const SEED: u64 = 1;

/// All figures of one contender in one case, with the round as the block.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Round and messages or transactions per second.
    pub rates: Vec<(u32, f64)>,
    /// Round and CPU time: µs per KiB, or per transaction.
    pub cpu: Vec<(u32, f64)>,
    /// Round and CPU time of pacing, in % of a CPU.
    pub pacing_cpu_pct: Vec<(u32, f64)>,
}

impl Series {
    /// Adds one run.
    pub fn add(&mut self, round: u32, figure: Figure) {
        self.rates.push((round, figure.per_second));
        self.cpu.extend(figure.cpu.map(|cpu| (round, cpu)));
        self.pacing_cpu_pct
            .extend(figure.pacing_cpu_pct.map(|pct| (round, pct)));
    }
}

/// One contender in one case.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: &'static str,
    /// The name of our contender that it is compared with.
    pub counterpart: &'static str,
    /// Its runs.
    pub series: Series,
}

/// One case, compared.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The setup.
    pub setup: Setup,
    /// The case.
    pub case: Case,
    /// All contenders, ours first.
    pub entries: Vec<Entry>,
}

impl Compared {
    /// A contender's runs.
    pub fn series(&self, name: &str) -> Option<&Series> {
        self.entries
            .iter()
            .find(|entry| entry.name == name)
            .map(|entry| &entry.series)
    }

    /// The ratio of the rate of `a` to that of `b`.
    pub fn rate_ratio(&self, a: &str, b: &str) -> Option<Interval> {
        ratio_interval(&self.series(a)?.rates, &self.series(b)?.rates, SEED)
    }

    /// The ratio of the CPU time of `a` to that of `b`.
    pub fn cpu_ratio(&self, a: &str, b: &str) -> Option<Interval> {
        ratio_interval(&self.series(a)?.cpu, &self.series(b)?.cpu, SEED)
    }
}

/// A value with its interval, for people.
pub fn shown(interval: Interval) -> String {
    let digits = if interval.value.abs() < 10.0 { 3 } else { 1 };
    match (interval.low, interval.high) {
        (Some(low), Some(high)) => format!(
            "{:.digits$} [{low:.digits$}, {high:.digits$}]",
            interval.value
        ),
        _ => format!("{:.digits$}", interval.value),
    }
}
