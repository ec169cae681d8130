//! The figure of a claim: which cells it needs, and how it is computed from their medians.

use bitcost_model::study::{Label, phrase};
use bitcost_stats::{Interval, Side, estimate_interval};
use bitcost_study::check::{Figure, Levels};

use crate::cells::{CellRuns, has};

/// One comparison: the cells that a figure needs, in the order of its medians, at levels of the
/// factors that the figure does not name.
pub struct Comparison<'a> {
    pub levels: Levels,
    sides: Vec<&'a CellRuns<'a>>,
}

/// Every combination of the levels that the figure leaves open for which all of its cells exist.
pub fn comparisons<'a>(figure: &Figure, cells: &'a [CellRuns<'a>]) -> Vec<Comparison<'a>> {
    let wanted = sides(figure);
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

/// The levels of each side, in the order of the figure's medians.
fn sides(figure: &Figure) -> Vec<Levels> {
    match figure {
        Figure::Value(of) => vec![of.clone()],
        Figure::Ratio(of, to) | Figure::Difference(of, to) => vec![of.clone(), to.clone()],
    }
}

/// The figure in words, after the metric's title.
pub fn words(figure: &Figure) -> String {
    match figure {
        Figure::Value(of) => phrase(of),
        Figure::Ratio(of, to) => format!("{} ÷ {}", phrase(of), phrase(to)),
        Figure::Difference(of, to) => format!("{} − {}", phrase(of), phrase(to)),
    }
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
            of(figure, medians).filter(|value| value.is_finite())
        })
    }
}

fn of(figure: &Figure, medians: &[f64]) -> Option<f64> {
    match figure {
        Figure::Value(_) => medians.first().copied(),
        Figure::Ratio(..) => Some(medians.first()? / medians.get(1)?),
        Figure::Difference(..) => Some(medians.first()? - medians.get(1)?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_the_medians_in_order() {
        let [none, other] = [Levels::new(), Levels::new()];
        let ratio = Figure::Ratio(none.clone(), other.clone());
        assert_eq!(of(&ratio, &[4.0, 2.0]), Some(2.0));
        assert_eq!(of(&Figure::Difference(none, other), &[4.0, 1.0]), Some(3.0));
    }
}
