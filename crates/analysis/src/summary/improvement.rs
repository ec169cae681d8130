//! How much better one level of a factor is than another.

use std::collections::BTreeMap;

use bitcost_model::study::Label;
use bitcost_stats::{Interval, ratio_interval};
use bitcost_study::check::Levels;
use bitcost_study::{Compared, Study};
use schemars::JsonSchema;
use serde::Serialize;

use crate::cells::{CellRuns, CellSummary, Places, has};
use crate::metrics::{Better, METRICS, Metric, metric};
use bitcost_model::as_map::as_map;

/// How much better one level of a factor is than another, and under the name of each metric the
/// ratio of medians.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ImprovementSummary {
    /// The factor.
    pub factor: String,
    /// The old level.
    pub from: Label,
    /// The new level.
    pub to: Label,
    /// Levels of the other factors.
    #[serde(serialize_with = "as_map")]
    #[schemars(with = "BTreeMap<String, Label>")]
    pub levels: Vec<(String, Label)>,
    /// The ratio of each metric that has a better side, above 1 where the new level is better.
    #[serde(flatten)]
    #[schemars(with = "BTreeMap<String, Interval>")]
    pub figures: BTreeMap<&'static str, Interval>,
    /// The author's ratios, by metric.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Option<BTreeMap<String, f64>>")]
    pub expected: Vec<(String, f64)>,
}

/// The study's improvement at each combination of the other factors' levels.
pub(super) fn improvements(
    study: &Study,
    cells: &[CellSummary],
    places: &Places,
    runs: &[CellRuns],
    seed: u64,
) -> Vec<ImprovementSummary> {
    let Some(asked) = &study.table.improvement else {
        return Vec::new();
    };
    let of = |(place, from): (usize, &CellSummary)| {
        let (levels, to) = counterpart(asked, &from.levels)?;
        let other = places.index(cells, &to)?;
        Some(ImprovementSummary {
            factor: asked.factor.clone(),
            from: asked.old.clone(),
            to: asked.new.clone(),
            expected: expected_improvement(study, &levels, from, &cells[other]),
            levels,
            figures: ratios(&runs[place], &runs[other], seed),
        })
    };
    cells.iter().enumerate().filter_map(of).collect()
}

/// The levels of the other factors, and the levels of the cell that is compared with the cell of
/// these levels; absent where that is not at the old level.
pub(crate) fn counterpart(asked: &Compared, from: &Levels) -> Option<(Levels, Levels)> {
    let is_asked = |level: &&(String, Label)| level.0 == asked.factor;
    let (of_asked, others): (Vec<_>, Vec<_>) = from.iter().partition(is_asked);
    if !of_asked.iter().any(|(_, label)| *label == asked.old) {
        return None;
    }
    let others: Levels = others.into_iter().cloned().collect();
    let to = (asked.factor.clone(), asked.new.clone());
    Some((others.clone(), [others, vec![to]].concat()))
}

fn ratios(from: &CellRuns, to: &CellRuns, seed: u64) -> BTreeMap<&'static str, Interval> {
    let ratio = |metric: &Metric| {
        let (from, to) = (from.values(metric.name), to.values(metric.name));
        let (above, below) = oriented(metric.better, &from, &to)?;
        Some((metric.name, ratio_interval(above, below, seed)?))
    };
    METRICS.iter().filter_map(ratio).collect()
}

/// The author's own ratios where they are printed, otherwise the ratios of the author's figures.
fn expected_improvement(
    study: &Study,
    levels: &[(String, Label)],
    from: &CellSummary,
    to: &CellSummary,
) -> Vec<(String, f64)> {
    let mut printed = study.expect.iter().flat_map(|expect| &expect.improvements);
    if let Some(printed) = printed.find(|printed| has(levels, &printed.levels)) {
        return printed.figures.clone();
    }
    let ratio = |(name, value): &(String, f64)| {
        let (above, below) = oriented(metric(name)?.better, *value, to.expected(name)?)?;
        (below != 0.0).then(|| (name.clone(), above / below))
    };
    from.expected.iter().filter_map(ratio).collect()
}

/// Numerator and denominator, ordered so that a ratio above 1 is an improvement.
fn oriented<T>(better: Better, from: T, to: T) -> Option<(T, T)> {
    match better {
        Better::Higher => Some((to, from)),
        Better::Lower => Some((from, to)),
        Better::Neither => None,
    }
}
