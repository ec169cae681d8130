//! What changed from one set of runs to another: per cell and metric the change in per cent, its interval, and a verdict.

mod hosts;
mod pairs;
mod text;

use metrics::{Better, Metric};
use model::study::{Label, phrase};
use stats::Interval;

use crate::frame::Execution;
use crate::rows::RunRow;
use crate::summary::Summary;
use crate::text::shown_metrics;

pub use pairs::{Pairing, Side, across, within};
pub use text::{
    comparison_json, comparison_lines, comparison_markdown, comparison_method, comparison_tally, comparison_text,
};

/// From which change in per cent on a metric is better or worse, unless another threshold is named.
pub const THRESHOLD_PCT: f64 = 3.0;

/// What a change comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It reaches the threshold towards the better side, and its interval has no 0.
    Better,
    /// As better, towards the other side.
    Worse,
    /// It stays below the threshold, and its interval has no change of twice as much.
    Same,
    /// It reaches the threshold and the metric has no better side.
    Changed,
    /// The runs do not tell.
    CannotTell,
}

impl Verdict {
    /// All, in the order in which they are counted.
    pub const ALL: [Verdict; 5] =
        [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Changed, Verdict::CannotTell];

    /// The words for people.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "same",
            Verdict::Changed => "changed",
            Verdict::CannotTell => "cannot tell",
        }
    }

    /// What a ratio new ÷ old comes to, with a threshold in per cent.
    pub fn of(ratio: &Interval, better: Better, threshold_pct: f64) -> Verdict {
        let (Some(low), Some(high)) = (ratio.low.map(pct), ratio.high.map(pct)) else { return Verdict::CannotTell };
        let change = pct(ratio.value);
        let reaches = change.abs() >= threshold_pct;
        match (better, low > 0.0, high < 0.0) {
            _ if !reaches && low > -2.0 * threshold_pct && high < 2.0 * threshold_pct => Verdict::Same,
            _ if !reaches => Verdict::CannotTell,
            (Better::Neither, true, _) | (Better::Neither, _, true) => Verdict::Changed,
            (Better::Higher, true, _) | (Better::Lower, _, true) => Verdict::Better,
            (Better::Higher, _, true) | (Better::Lower, true, _) => Verdict::Worse,
            _ => Verdict::CannotTell,
        }
    }
}

/// A ratio as a change in per cent.
pub fn pct(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

/// One metric of one pair of cells.
#[derive(Clone, Debug)]
pub struct Change {
    /// The metric.
    pub metric: &'static Metric,
    /// Medians of the old and the new runs.
    pub medians: (f64, f64),
    /// Runs of the old and the new side that have it.
    pub runs: (usize, usize),
    /// New ÷ old; absent where a value is not above 0.
    pub ratio: Option<Interval>,
    /// What it comes to.
    pub verdict: Verdict,
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
    /// Whether runs were paired within blocks.
    pub pairing: Pairing,
    /// From which change in per cent on.
    pub threshold_pct: f64,
    /// What differs between the hosts, in words.
    pub host_differences: Vec<String>,
    /// The cells that both sides have.
    pub cells: Vec<ComparedCell>,
    /// Cells of one side alone, each with that side's name.
    pub unmatched: Vec<(String, String)>,
}

impl Comparison {
    /// How many changes have this verdict.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.cells.iter().flat_map(|cell| &cell.changes).filter(|change| change.verdict == verdict).count()
    }
}

/// The metrics that a comparison has unless others are named: those that the study's table shows.
pub fn compared_metrics(summary: &Summary) -> Vec<&'static Metric> {
    shown_metrics(summary).into_iter().filter_map(metrics::metric).collect()
}

/// What a study compares itself ([`model::study::Compared`]); absent where it compares nothing.
pub fn of_study(execution: &Execution, threshold_pct: f64) -> Option<Comparison> {
    let compared = execution.summary.study.compare.as_ref()?;
    let side = |label: &Label| Side(vec![(compared.factor.clone(), label.clone())]);
    let metrics = compared_metrics(&execution.summary);
    Some(within(execution, &side(&compared.old), &side(&compared.new), &metrics, threshold_pct))
}

/// The change of one metric; absent where a side has no value.
fn change(
    old: &[&RunRow],
    new: &[&RunRow],
    metric: &'static Metric,
    pairing: Pairing,
    threshold_pct: f64,
) -> Option<Change> {
    let values = |rows: &[&RunRow]| -> Vec<(u32, f64)> {
        rows.iter().filter_map(|row| Some((row.block, row.used_value(metric)?))).collect()
    };
    let (old, new) = (values(old), values(new));
    let numbers = |side: &[(u32, f64)]| side.iter().map(|(_, value)| *value).collect::<Vec<_>>();
    let (all_old, all_new) = (numbers(&old), numbers(&new));
    let medians = (stats::median(&all_old)?, stats::median(&all_new)?);
    let same = all_old.iter().chain(&all_new).all(|value| *value == medians.0);
    let ratio = match pairing {
        _ if same => Some(Interval { value: 1.0, low: Some(1.0), high: Some(1.0) }),
        Pairing::Blocks => stats::paired_change(&pairs::by_block(&old, &new)),
        Pairing::Apart => stats::change(&all_old, &all_new),
    };
    let verdict = ratio.as_ref().map_or(Verdict::CannotTell, |ratio| Verdict::of(ratio, metric.better, threshold_pct));
    Some(Change { metric, medians, runs: (all_old.len(), all_new.len()), ratio, verdict })
}
