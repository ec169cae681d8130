//! The results: every run of every contender, ratios of them within a regime, and their tables.

use std::collections::BTreeSet;

use bitcost_stats::{Interval, median, ratio_interval};

use super::cases::Case;
use super::field::Setup;
use super::figure::{Figure, REGIMES, Regime};
use super::ours::{DEFAULT, FLAVOURS};

/// Seed of every interval, so that the same figures give the same interval.
pub const SEED: u64 = 1;

/// One contender in one case.
pub struct Entry {
    pub name: &'static str,
    /// The round of each run and its figures.
    pub runs: Vec<(u32, Figure)>,
}

/// One case, compared.
pub struct Compared {
    pub setup: Setup,
    pub case: Case,
    /// All contenders, ours first.
    pub entries: Vec<Entry>,
}

/// A contender's runs of one regime.
pub type Side<'a> = (&'a str, Regime);

impl Compared {
    /// Whether it is of the usual setup.
    pub fn is_usual(&self) -> bool {
        self.setup == Setup::default()
    }

    /// The regimes in which a contender has runs.
    pub fn regimes(&self, name: &str) -> Vec<Regime> {
        let has = |regime: &Regime| !self.runs((name, *regime)).is_empty();
        REGIMES.into_iter().filter(has).collect()
    }

    fn runs(&self, (name, regime): Side) -> Vec<&(u32, Figure)> {
        let entry = self.entries.iter().find(|entry| entry.name == name);
        let is_of = |(_, figure): &&(u32, Figure)| Regime::of(&self.case, figure) == regime;
        entry
            .into_iter()
            .flat_map(|entry| &entry.runs)
            .filter(is_of)
            .collect()
    }

    /// One figure of these runs, each with its round.
    pub fn values(&self, side: Side, figure: impl Fn(&Figure) -> Option<f64>) -> Vec<(u32, f64)> {
        let runs = self.runs(side).into_iter();
        runs.filter_map(|(round, of)| Some((*round, figure(of)?)))
            .collect()
    }

    /// Messages or transactions per second of these runs.
    pub fn rates(&self, side: Side) -> Vec<(u32, f64)> {
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

    /// Its table: each contender's medians in each regime in which it has runs, the ratio of ours to each rival, and
    /// that of our other contenders to our default; then the options that searches took.
    pub fn table(&self) -> String {
        let mut text = format!(
            "\n### {}\n\n| {} |\n|---|--:|--:|--:|--:|--:|--:|---|---|\n",
            self.case.name(),
            COLUMNS.join(" | ")
        );
        for entry in &self.entries {
            for regime in self.regimes(entry.name) {
                text += &format!("| {} |\n", self.row(entry, regime).join(" | "));
            }
        }
        let taken = |entry: &Entry| -> Vec<String> {
            let options = entry
                .runs
                .iter()
                .filter_map(|(_, run)| run.options.as_ref());
            options
                .map(|options| format!("{} took {options}", entry.name))
                .collect()
        };
        let options: BTreeSet<String> = self.entries.iter().flat_map(taken).collect();
        if !options.is_empty() {
            let options: Vec<String> = options.into_iter().collect();
            text += &format!("\n{}.\n", options.join("; "));
        }
        text
    }

    fn row(&self, entry: &Entry, regime: Regime) -> [String; 9] {
        let name = entry.name;
        let is_ours = FLAVOURS.iter().any(|flavour| flavour.name == name);
        // The ratio is that of another of ours to the default, or that of the default to a rival.
        let [a, b] = match is_ours {
            true => [name, DEFAULT],
            false => [DEFAULT, name],
        }
        .map(|name| (name, regime));
        let ratio = |interval: Option<Interval>| match interval {
            Some(interval) if name != DEFAULT => shown(interval),
            _ => String::new(),
        };
        let side = (name, regime);
        let number = |digits: usize, figure: &dyn Fn(&Figure) -> Option<f64>| {
            let value = self.middle(side, figure);
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        [
            format!("{name}{}", regime.label()),
            format!("{} of {}", self.runs(side).len(), entry.runs.len()),
            number(0, &|figure| Some(figure.per_second)),
            number(1, &|figure| figure.lost.map(|share| 100.0 * share)),
            number(3, &|figure| figure.cpu),
            number(0, &|figure| figure.packet_bytes),
            number(0, &|figure| {
                figure.window_limited.map(|share| 100.0 * share)
            }),
            ratio(self.rate_ratio(a, b)),
            ratio(self.cpu_ratio(a, b)),
        ]
    }
}

const COLUMNS: [&str; 9] = [
    "",
    "runs",
    "rate 1/s",
    "lost, %",
    "CPU",
    "packet, B",
    "window, %",
    "rate, ours ÷ theirs",
    "CPU, ours ÷ theirs",
];

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
