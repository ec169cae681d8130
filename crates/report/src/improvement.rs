//! How much better one level of a factor is than another.

use metrics::{Better, METRICS, metric};
use model::study::{Label, Study};
use stats::Interval;

use crate::sorted::CellRuns;
use crate::summary::{CellSummary, Summary, has};

/// How much better one level of a factor is than another, at given levels of the others.
#[derive(Clone, Debug)]
pub struct ImprovementSummary {
    /// The factor.
    pub factor: String,
    /// The level that is improved upon.
    pub from: Label,
    /// The level that improves.
    pub to: Label,
    /// Levels of the other factors.
    pub levels: Vec<(String, Label)>,
    /// Metric name and ratio of medians, above 1 where `to` is better; metrics without a better side are absent.
    pub figures: Vec<(&'static str, Interval)>,
    /// Metric name and ratio by the author's figures.
    pub expected: Vec<(String, f64)>,
}

/// The study's improvement at each combination of the other factors' levels.
pub(crate) fn improvements(summary: &Summary, runs: &[CellRuns]) -> Vec<ImprovementSummary> {
    let Some(asked) = &summary.study.table.improvement else { return Vec::new() };
    let mut found = Vec::new();
    for (from_index, from) in summary.cells.iter().enumerate() {
        if !from.levels.contains(&(asked.factor.clone(), asked.from.clone())) {
            continue;
        }
        let levels: Vec<_> = from.levels.iter().filter(|(factor, _)| *factor != asked.factor).cloned().collect();
        let mut other = levels.clone();
        other.push((asked.factor.clone(), asked.to.clone()));
        let Some(to_index) = summary.cells.iter().position(|cell| has(&cell.levels, &other)) else { continue };
        found.push(ImprovementSummary {
            factor: asked.factor.clone(),
            from: asked.from.clone(),
            to: asked.to.clone(),
            expected: expected_improvement(&summary.study, &levels, from, &summary.cells[to_index]),
            levels,
            figures: ratios(&runs[from_index], &runs[to_index], summary.seed),
        });
    }
    found
}

fn ratios(from: &CellRuns, to: &CellRuns, seed: u64) -> Vec<(&'static str, Interval)> {
    let ratio = |(index, metric): (usize, &metrics::Metric)| {
        let (from, to) = (from.values(index), to.values(index));
        let (above, below) = oriented(metric.better, from, to)?;
        Some((metric.name, stats::ratio_interval(above, below, seed)?))
    };
    METRICS.iter().enumerate().filter_map(ratio).collect()
}

/// The author's own ratios where they are printed, else those of the author's figures.
fn expected_improvement(
    study: &Study,
    levels: &[(String, Label)],
    from: &CellSummary,
    to: &CellSummary,
) -> Vec<(String, f64)> {
    let printed = study.expect.iter().flat_map(|expect| &expect.improvements);
    match printed.into_iter().find(|improvement| has(levels, &improvement.levels)) {
        Some(improvement) => improvement.figures.clone(),
        None => expected_ratios(from, to),
    }
}

fn expected_ratios(from: &CellSummary, to: &CellSummary) -> Vec<(String, f64)> {
    let ratio = |(name, value): &(String, f64)| {
        let (above, below) = oriented(metric(name)?.better, *value, to.expected(name)?)?;
        (below != 0.0).then(|| (name.clone(), above / below))
    };
    from.expected.iter().filter_map(ratio).collect()
}

/// What stands above and below the line, so that a ratio over 1 is an improvement.
fn oriented<T>(better: Better, from: T, to: T) -> Option<(T, T)> {
    match better {
        Better::Higher => Some((to, from)),
        Better::Lower => Some((from, to)),
        Better::Neither => None,
    }
}
