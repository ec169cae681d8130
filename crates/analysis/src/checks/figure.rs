//! The figure of a claim: which cells it needs, and how it is computed from their medians.

use bitcost_model::study::{Label, phrase};
use bitcost_stats::{Interval, Side, estimate_interval};
use bitcost_study::check::{Figure, FigureKind, Levels};

use crate::cells::{CellRuns, has};

/// One comparison: the cells that a figure needs, in the order of its medians, at levels of the
/// factors that the figure does not name.
pub struct Comparison<'a> {
    pub levels: Levels,
    sides: Vec<&'a CellRuns<'a>>,
}

/// Every combination of the levels that the figure leaves open for which all of its cells exist.
pub fn comparisons<'a>(figure: &Figure, cells: &'a [CellRuns<'a>]) -> Vec<Comparison<'a>> {
    let wanted = &figure.sides;
    let is_named = |level: &(String, Label)| wanted.iter().flatten().any(|of| of.0 == level.0);
    let mut found: Vec<Comparison> = Vec::new();
    let levels = cells.iter().map(|runs| runs.levels);
    for levels in levels.filter(|levels| wanted.first().is_some_and(|first| has(levels, first))) {
        let open = levels.iter().filter(|level| !is_named(level));
        let open: Levels = open.cloned().collect();
        if found.iter().any(|known| known.levels == open) {
            continue;
        }
        let at = |side: &Levels| {
            let mut cells = cells.iter();
            cells.find(|runs| has(runs.levels, side) && has(runs.levels, &open))
        };
        if let Some(sides) = wanted.iter().map(at).collect::<Option<Vec<_>>>() {
            let levels = open;
            found.push(Comparison { levels, sides });
        }
    }
    found
}

/// The figure in words, after the metric's title.
pub fn words(figure: &Figure) -> String {
    let sides: Vec<String> = figure.sides.iter().map(|of| phrase(of)).collect();
    sides.join(match figure.kind {
        FigureKind::Ratio => " ÷ ",
        FigureKind::Value | FigureKind::Difference => " − ",
    })
}

impl Comparison<'_> {
    /// Runs with the metric, in the cell that has the fewest.
    pub fn runs(&self, metric: &str) -> usize {
        let runs = self.sides.iter().map(|runs| runs.values(metric).len());
        runs.min().unwrap_or(0)
    }

    pub fn interval(&self, metric: &str, figure: &Figure, seed: u64) -> Option<Interval> {
        let values: Vec<_> = self.sides.iter().map(|runs| runs.values(metric)).collect();
        let sides: Vec<Side> = values.iter().map(Vec::as_slice).collect();
        estimate_interval(&sides, seed, |medians| {
            of(figure.kind, medians).filter(|value| value.is_finite())
        })
    }
}

fn of(kind: FigureKind, medians: &[f64]) -> Option<f64> {
    let (first, second) = (medians.first()?, medians.get(1));
    match kind {
        FigureKind::Value => Some(*first),
        FigureKind::Ratio => Some(first / second?),
        FigureKind::Difference => Some(first - second?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_the_medians_in_order() {
        assert_eq!(of(FigureKind::Ratio, &[4.0, 2.0]), Some(2.0));
        assert_eq!(of(FigureKind::Difference, &[4.0, 1.0]), Some(3.0));
    }
}
