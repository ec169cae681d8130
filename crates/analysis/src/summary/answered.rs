//! The figures of the sentences in which a study answers its question.

use bitcost_stats::{Interval, Side, estimate_interval, median};
use bitcost_study::Sentence;
use bitcost_study::check::Levels;

use crate::cells::{CellRuns, has};
use crate::metrics::metric;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answered {
    /// The median of the cell that it is about; of several metrics the sum of their medians.
    pub of: f64,
    /// That of the cell that it is compared with.
    pub to: Option<f64>,
    /// The first ÷ the second; absent where that is 0.
    pub ratio: Option<Interval>,
    /// The number of runs of the cell that has fewer.
    pub runs: usize,
}

/// The figures of a sentence; absent where a cell has no run with a metric.
pub(super) fn answered(sentence: &Sentence, cells: &[CellRuns], seed: u64) -> Option<Answered> {
    let values = |levels: &Levels| -> Option<Vec<Vec<(u32, f64)>>> {
        let runs = cells.iter().find(|runs| has(runs.levels, levels))?;
        let side = |name: &String| metric(name).map(|of| runs.values(of.name));
        sentence.metrics.iter().map(side).collect()
    };
    let of = values(&sentence.of)?;
    let to = sentence.to.as_ref().map_or(Some(Vec::new()), values)?;
    let sides: Vec<Side> = of.iter().chain(&to).map(Vec::as_slice).collect();
    let (above, below) = sides.split_at(of.len());
    let sum = |sides: &[Side]| -> Option<f64> {
        let medians = sides.iter().map(|side| {
            let values: Vec<f64> = side.iter().map(|(_, value)| *value).collect();
            median(&values).filter(|value| value.is_finite())
        });
        medians.sum()
    };
    // Where nothing is below, this is no number.
    let ratio = estimate_interval(&sides, seed, |medians| {
        let (above, below) = medians.split_at(of.len());
        let ratio = above.iter().sum::<f64>() / below.iter().sum::<f64>();
        ratio.is_finite().then_some(ratio)
    });
    Some(Answered {
        of: sum(above)?,
        to: match below {
            [] => None,
            below => Some(sum(below)?),
        },
        ratio,
        runs: sides.iter().map(|side| side.len()).min().unwrap_or(0),
    })
}
