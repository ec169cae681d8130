//! The results: every run of every contender, and ratios of them within a regime.

use std::path::Path;

use anyhow::{Context, Result};
use bitcost_stats::{Interval, median, ratio_interval};
use serde::{Deserialize, Serialize};

use super::cases::Case;
use super::field::Setup;
use super::figure::Figure;
use super::regime::{REGIMES, Regime};

/// Seed of every interval, so that the same figures give the same interval.
pub const SEED: u64 = 1;

/// One contender in one case.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// The round of each run and its figures.
    pub runs: Vec<(u32, Figure)>,
}

/// One case, compared.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// The setup.
    pub setup: Setup,
    /// The case.
    pub case: Case,
    /// All contenders, ours first.
    pub entries: Vec<Entry>,
}

/// The values of one figure, each with its round.
type Values = Vec<(u32, f64)>;

/// A contender's runs of one regime.
pub type Side<'a> = (&'a str, Regime);

impl Compared {
    /// A contender.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The regimes in which a contender has runs.
    pub fn regimes(&self, name: &str) -> Vec<Regime> {
        let has = |regime: &Regime| !self.runs((name, *regime)).is_empty();
        REGIMES.into_iter().filter(has).collect()
    }

    /// The runs of a contender that are of a regime.
    pub fn runs(&self, (name, regime): Side) -> Vec<&(u32, Figure)> {
        let all = self.entry(name).map_or(&[][..], |entry| &entry.runs);
        let is_of = |(_, figure): &&(u32, Figure)| Regime::of(&self.case, figure) == regime;
        all.iter().filter(is_of).collect()
    }

    /// One figure of these runs.
    pub fn values(&self, side: Side, figure: impl Fn(&Figure) -> Option<f64>) -> Values {
        let runs = self.runs(side).into_iter();
        runs.filter_map(|(round, of)| Some((*round, figure(of)?)))
            .collect()
    }

    /// Messages or transactions per second of these runs.
    pub fn rates(&self, side: Side) -> Values {
        self.values(side, |figure| Some(figure.per_second))
    }

    /// The median of one figure of these runs.
    pub fn middle(&self, side: Side, figure: impl Fn(&Figure) -> Option<f64>) -> Option<f64> {
        let values = self.values(side, figure);
        median(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
    }

    /// The ratio of the rate of `a` to that of `b`.
    pub fn rate_ratio(&self, a: Side, b: Side) -> Option<Interval> {
        ratio_interval(&self.rates(a), &self.rates(b), SEED)
    }

    /// The ratio of the CPU time of `a` to that of `b`.
    pub fn cpu_ratio(&self, a: Side, b: Side) -> Option<Interval> {
        let cpu = |side| self.values(side, |figure| figure.cpu);
        ratio_interval(&cpu(a), &cpu(b), SEED)
    }
}

/// The cases that an earlier execution wrote, and these, each case once.
///
/// # Errors
/// When the file cannot be read or written.
pub fn joined(file: &Path, new: Vec<Compared>) -> Result<Vec<Compared>> {
    let name = || file.display().to_string();
    let mut all: Vec<Compared> = match std::fs::read(file) {
        Ok(bytes) => serde_json::from_slice(&bytes).with_context(name)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(name),
    };
    let key = |compared: &Compared| (compared.setup.says(), compared.case.name());
    all.retain(|old| !new.iter().any(|new| key(new) == key(old)));
    all.extend(new);
    all.sort_by_key(|Compared { setup, case, .. }| {
        let place = (case.rate_bps, case.traffic as u8, case.size);
        (setup.one_cpu, setup.offloads_off, place)
    });
    std::fs::write(file, serde_json::to_vec(&all)?).with_context(name)?;
    Ok(all)
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
