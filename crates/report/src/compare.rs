//! What changed from one set of runs to another: per cell and metric the change, its interval, and a verdict.

mod change;
mod hosts;
mod json;
mod kept;
mod leaves;
mod matching;
mod pairs;
mod settings;
mod text;
mod verdict;

use metrics::Metric;
use model::study::{Label, phrase};

use crate::frame::Execution;
use crate::summary::Summary;
use crate::text::shown_metrics;

pub use change::{Change, SHARE_POINTS, Shift};
pub use json::comparison_json;
pub use pairs::{Pairing, Side, across, within};
pub use text::{
    comparison_lines, comparison_markdown, comparison_method, comparison_remarks, comparison_tally, comparison_text,
    comparison_unmatched,
};
pub use verdict::Verdict;

/// From which change in per cent on a metric is better or worse, unless another threshold is named.
pub const THRESHOLD_PCT: f64 = 3.0;

/// A ratio as a change in per cent.
pub fn pct(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// Two cells that were compared.
#[derive(Clone, Debug)]
pub struct ComparedCell {
    /// The levels that both have.
    pub levels: Vec<(String, Label)>,
    /// One per metric.
    pub changes: Vec<Change>,
}

impl ComparedCell {
    /// Its levels in words; `all` where both sides are one cell each.
    pub fn name(&self) -> String {
        if self.levels.is_empty() { "all".to_owned() } else { phrase(&self.levels) }
    }
}

/// Everything that was compared.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Names of the old and the new side.
    pub names: (String, String),
    /// Whether the runs of both sides were made in the same blocks.
    pub pairing: Pairing,
    /// Whether both sides are of one execution.
    pub is_within: bool,
    /// From which change in per cent on.
    pub threshold_pct: f64,
    /// What differs between the hosts, in words.
    pub host_differences: Vec<String>,
    /// What was set differently in cells that are compared, beside their levels, in words.
    pub setting_differences: Vec<String>,
    /// Levels that one side alone knows, in words.
    pub known_to_one: Vec<String>,
    /// What became of runs that are not in the figures, or are disturbed: a sentence per execution.
    pub run_remarks: Vec<String>,
    /// The cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// Cells of one side alone.
    pub unmatched: Vec<Unmatched>,
}

/// A cell that has none to be compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Its levels in words.
    pub cell: String,
    /// Whether it is of the old side.
    pub is_old: bool,
    /// What keeps it from being one of the other side's.
    pub why: Option<String>,
}

impl Comparison {
    /// Every change.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.cells.iter().flat_map(|cell| &cell.changes)
    }

    /// How many changes have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.changes().filter(|change| change.verdict == verdict).count()
    }

    /// The old side's cells that the new execution does not have. Within one execution a study says which cells there are, so
    /// that none is lost.
    pub fn lost_cells(&self) -> usize {
        self.unmatched.iter().filter(|unmatched| !self.is_within && unmatched.is_old).count()
    }

    /// The name of the old or of the new side.
    pub fn side(&self, is_old: bool) -> &str {
        if is_old { &self.names.0 } else { &self.names.1 }
    }
}

/// The metrics that a comparison has unless others are named: those that a table of these executions shows.
pub fn compared_metrics(summaries: &[&Summary]) -> Vec<&'static Metric> {
    let mut found: Vec<&'static Metric> = Vec::new();
    for metric in summaries.iter().flat_map(|summary| shown_metrics(summary)).filter_map(metrics::metric) {
        if found.iter().all(|known| known.name != metric.name) {
            found.push(metric);
        }
    }
    found
}

/// What a study compares itself ([`model::study::Compared`]); absent where it compares nothing.
pub fn of_study(execution: &Execution, threshold_pct: f64) -> Option<Comparison> {
    let compared = execution.summary.study.compare.as_ref()?;
    let side = |label: &Label| Side(vec![(compared.factor.clone(), label.clone())]);
    let metrics = compared_metrics(&[&execution.summary]);
    let found = within(execution, &side(&compared.old), &side(&compared.new), &metrics, threshold_pct);
    // What became of the runs stands beside the study's tables.
    Some(Comparison { run_remarks: Vec::new(), ..found })
}
