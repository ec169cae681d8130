//! How far an execution is from the end that its stop rule asks for, which decides whether more
//! blocks or runs are needed.

use bitcost_model::study::{UntilInterval, phrase};
use bitcost_stats::Interval;
use bitcost_study::{Compared, Study};
use serde::Serialize;

use super::improvement::counterpart;
use crate::cells::{COVERED_FROM, CellRuns, has};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    Cells,
    /// A narrow interval of the ratio of each pair of cells that the study compares.
    Ratios,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// The cell, or the two levels and the others.
    pub name: String,
    /// The width of the interval, in per cent; absent where too few runs have a value.
    pub width_pct: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Precision {
    pub goal: Goal,
    pub metric: String,
    /// The requested width, in per cent of the median.
    pub requested_pct: f64,
    /// Whether nothing is left to narrow, which ends the execution also where no run has the metric.
    #[serde(skip)]
    pub is_done: bool,
    /// Whether there are intervals, and all are narrow enough.
    pub reached: bool,
    /// What is not narrow enough. Cells whose runs all lack the metric are left out.
    pub wide: Vec<Missing>,
    /// The fewest runs that one of the intervals is of; as many as one of 95 % takes where there are none.
    #[serde(skip)]
    pub fewest_runs: usize,
    pub blocks: u32,
}

impl Precision {
    /// The precision of what was measured; absent where the study has no stop rule.
    pub(crate) fn of(
        study: &Study,
        cells: &[CellRuns],
        seed: u64,
        blocks: u32,
    ) -> Option<Precision> {
        let rule = study.until.as_ref()?;
        let asked = study.compare.as_ref().or(study.table.improvement.as_ref());
        let (goal, found) = match asked {
            Some(asked) => (Goal::Ratios, ratios(rule, asked, cells, seed)),
            None => (Goal::Cells, medians(rule, cells, seed)),
        };
        let has_any = !found.is_empty();
        let runs = found.iter().map(|(_, _, runs)| *runs);
        let fewest_runs = runs.filter(|runs| *runs > 1).min();
        let missing = found.into_iter().filter_map(|(name, interval, _)| {
            let width_pct = interval.as_ref().and_then(width_pct);
            let is_narrow = width_pct.is_some_and(|width| width < rule.width_pct);
            (!is_narrow).then_some(Missing { name, width_pct })
        });
        let wide: Vec<Missing> = missing.collect();
        Some(Precision {
            goal,
            metric: rule.metric.clone(),
            requested_pct: rule.width_pct,
            is_done: wide.is_empty(),
            reached: has_any && wide.is_empty(),
            wide,
            fewest_runs: fewest_runs.unwrap_or(COVERED_FROM),
            blocks,
        })
    }
}

/// A name, its interval, and of how many runs it is.
type Named = (String, Option<Interval>, usize);

/// The medians of the cells that have the metric, or no run yet.
fn medians(rule: &UntilInterval, cells: &[CellRuns], seed: u64) -> Vec<Named> {
    let median = |cell: &CellRuns| {
        let values = cell.values(&rule.metric);
        let values: Vec<f64> = values.iter().map(|(_, value)| *value).collect();
        if values.is_empty() && cell.count() > 0 {
            return None;
        }
        let interval = bitcost_stats::median_interval(&values, seed);
        Some((cell.name.clone(), interval, values.len()))
    };
    cells.iter().filter_map(median).collect()
}

/// The ratios of the cells that the study compares, which have the metric or no run yet.
fn ratios(rule: &UntilInterval, asked: &Compared, cells: &[CellRuns], seed: u64) -> Vec<Named> {
    let ratio = |from: &CellRuns| {
        let (others, levels) = counterpart(asked, from.levels)?;
        let mut known = cells.iter();
        let to = known.find(|cell| has(cell.levels, &levels))?;
        let sides = [to, from].map(|runs| runs.values(&rule.metric));
        if from.count().min(to.count()) > 0 && sides.iter().any(|side| side.is_empty()) {
            return None;
        }
        let (new, old) = (&asked.new, &asked.old);
        let name = match phrase(&others) {
            others if others.is_empty() => format!("{new} ÷ {old}"),
            others => format!("{new} ÷ {old} ({others})"),
        };
        let interval = bitcost_stats::ratio_interval(&sides[0], &sides[1], seed);
        Some((name, interval, sides[0].len().min(sides[1].len())))
    };
    cells.iter().filter_map(ratio).collect()
}

/// The width of an interval, in per cent of its value; absent without bounds, and where the value
/// is 0 and the bounds are not.
pub fn width_pct(interval: &Interval) -> Option<f64> {
    let width = interval.high? - interval.low?;
    let pct = match width == 0.0 {
        true => 0.0,
        false => 100.0 * width / interval.value.abs(),
    };
    Some(pct).filter(|pct| pct.is_finite())
}
