//! The noise of an execution: how much the machine's speed varied between its runs, and how small a
//! difference its blocks can show.

use bitcost_model::study::UntilInterval;
use bitcost_stats::{Residual, median, residual};

use crate::cells::CellRuns;
use crate::metrics::{METRICS, SPEED};

/// The difference, in per cent, for which the number of blocks is computed.
pub const WANTED_PCT: f64 = 5.0;

/// The noise of an execution.
#[derive(Clone, Debug, PartialEq)]
pub struct Noise {
    /// The slowest run's time of the fixed loop ÷ the fastest's, each divided by the median of its
    /// cell.
    pub speed_varied: f64,
    /// What blocks can show; absent with under two cells or three complete blocks.
    pub detectable: Option<Detectable>,
}

/// The differences of two cells that blocks can show.
#[derive(Clone, Debug, PartialEq)]
pub struct Detectable {
    /// The metric.
    pub metric: String,
    /// Blocks in which every cell has the metric.
    pub blocks: usize,
    /// The smallest difference of two cells that these blocks show, in per cent.
    pub difference_pct: f64,
    /// Blocks that show a difference of [`WANTED_PCT`]; absent where 1000 do not.
    pub blocks_wanted: Option<usize>,
}

impl Noise {
    /// The noise of these cells; absent where the loop was not measured in two runs. The metric is
    /// that of the stop rule, or else `shown`.
    pub(crate) fn of(
        rule: Option<&UntilInterval>,
        shown: &str,
        cells: &[CellRuns],
    ) -> Option<Noise> {
        let metric = rule.map_or(shown, |rule| rule.metric.as_str());
        Some(Noise {
            speed_varied: speed_varied(cells)?,
            detectable: detectable(metric, cells),
        })
    }
}

fn values(metric: &str, runs: &CellRuns) -> Vec<(u32, f64)> {
    let index = METRICS.iter().position(|known| known.name == metric);
    index.map_or_else(Vec::new, |index| runs.values(index))
}

fn speed_varied(cells: &[CellRuns]) -> Option<f64> {
    let mut relative = Vec::new();
    for runs in cells {
        let times: Vec<f64> = values(SPEED, runs).iter().map(|(_, time)| *time).collect();
        let Some(middle) = median(&times).filter(|middle| *middle > 0.0) else {
            continue;
        };
        relative.extend(times.iter().map(|time| time / middle));
    }
    let least = relative.iter().copied().min_by(f64::total_cmp)?;
    let most = relative.iter().copied().max_by(f64::total_cmp)?;
    (relative.len() > 1).then_some(most / least)
}

fn detectable(metric: &str, cells: &[CellRuns]) -> Option<Detectable> {
    let sides: Vec<Vec<(u32, f64)>> = cells
        .iter()
        .map(|runs| values(metric, runs))
        .filter(|values| !values.is_empty())
        .collect();
    let at = |side: &[(u32, f64)], block: u32| {
        let (_, value) = side.iter().find(|(of, _)| *of == block)?;
        (*value > 0.0).then(|| value.ln())
    };
    let blocks: Vec<u32> = sides.first()?.iter().map(|(block, _)| *block).collect();
    let whole = blocks
        .into_iter()
        .filter(|block| sides.iter().all(|side| at(side, *block).is_some()));
    let whole: Vec<u32> = whole.collect();
    let rows: Vec<Vec<f64>> = sides
        .iter()
        .map(|side| whole.iter().filter_map(|block| at(side, *block)).collect())
        .collect();
    let spread: Residual = residual(&rows)?;
    Some(Detectable {
        metric: metric.to_owned(),
        blocks: spread.blocks,
        difference_pct: 100.0 * spread.detectable(spread.blocks).exp_m1(),
        blocks_wanted: spread.blocks_for((WANTED_PCT / 100.0).ln_1p()),
    })
}
