//! The figure of a claim: which cells it needs, and how it is computed from their medians.

use crate::theory::{Framing, Transport};
use bitcost_model::study::{Label, phrase};
use bitcost_stats::{Interval, Side, estimate_interval, spread};
use bitcost_study::check::{Along, Figure, Levels, SATURATED};

use crate::cells::{CellRuns, has};

/// One comparison: the cells that a figure needs, in the order of its medians, at levels of the
/// factors that the figure does not name.
pub struct Comparison<'a> {
    pub levels: Levels,
    sides: Vec<&'a CellRuns<'a>>,
    /// The sizes of messages, which the figure needs in addition to the medians.
    sizes: Vec<f64>,
}

/// An MTU with room for the largest TCP segment of the curve, whose messages each fit one segment.
const CURVE_MTU: u32 = 9000;

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
            found.push(Comparison {
                sizes: sizes(figure, levels),
                levels: open,
                sides,
            });
        }
    }
    found
}

/// The levels of each side, in the order of the figure's medians.
fn sides(figure: &Figure) -> Vec<Levels> {
    match figure {
        Figure::Value(of) | Figure::OverSingle(of, _) => vec![of.clone()],
        Figure::Ratio(of, to) | Figure::Difference(of, to) => vec![of.clone(), to.clone()],
        Figure::Spread(along) | Figure::Step(along) => way(along, &Levels::new()),
        Figure::Saturation(along, of, to) => [way(along, of), way(along, to)].concat(),
    }
}

fn way(along: &Along, side: &Levels) -> Vec<Levels> {
    let levels = |label: &Label| {
        let own = [(along.factor.clone(), label.clone())];
        [&own[..], &along.at, side].concat()
    };
    along.levels.iter().map(levels).collect()
}

fn sizes(figure: &Figure, levels: &Levels) -> Vec<f64> {
    let number = |label: &Label| match label {
        Label::Number(number) => Some(*number as f64),
        Label::Text(_) => None,
    };
    match figure {
        Figure::Saturation(along, ..) => along.levels.iter().filter_map(number).collect(),
        Figure::OverSingle(..) => {
            let is_size = |level: &&(String, Label)| level.0 == "message_size_bytes";
            let sizes = levels.iter().filter(is_size);
            sizes.filter_map(|(_, label)| number(label)).collect()
        }
        _ => Vec::new(),
    }
}

/// The figure in words, after the metric's title.
pub fn words(figure: &Figure) -> String {
    match figure {
        Figure::Value(of) => phrase(of),
        Figure::Ratio(of, to) => format!("{} ÷ {}", phrase(of), phrase(to)),
        Figure::Difference(of, to) => format!("{} − {}", phrase(of), phrase(to)),
        Figure::OverSingle(of, rate) => {
            let (of, rate) = (phrase(of), *rate as f64 / 1e9);
            format!("{of} ÷ one message per segment at {rate} Gbit/s")
        }
        Figure::Spread(along) => format!("largest ÷ smallest{}", ends(along)),
        Figure::Step(along) => format!("least step{}", ends(along)),
        Figure::Saturation(along, of, to) => {
            let (factor, of, to) = (&along.factor, phrase(of), phrase(to));
            format!("{factor} from which it is within 5 % of its largest, {of} ÷ {to}")
        }
    }
}

fn ends(along: &Along) -> String {
    let ends = along.levels.first().zip(along.levels.last());
    let ends = ends.map_or(String::new(), |(first, last)| {
        format!(" from {first} to {last}")
    });
    match phrase(&along.at) {
        at if at.is_empty() => ends,
        at => format!("{ends}, {at}"),
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
            of(figure, medians, &self.sizes).filter(|value| value.is_finite())
        })
    }
}

fn of(figure: &Figure, medians: &[f64], sizes: &[f64]) -> Option<f64> {
    match figure {
        Figure::Value(_) => medians.first().copied(),
        Figure::Ratio(..) => Some(medians.first()? / medians.get(1)?),
        Figure::Difference(..) => Some(medians.first()? - medians.get(1)?),
        Figure::OverSingle(_, rate_bps) => {
            let size = *sizes.first()?;
            let framing = Framing::new(Transport::Tcp { timestamps: true }, CURVE_MTU);
            let on_wire = framing.message(size as u32).bytes as f64;
            Some(medians.first()? / (*rate_bps as f64 / 1e6 * size / on_wire))
        }
        Figure::Spread(_) => {
            let found = spread(medians)?;
            Some(found.largest / found.least)
        }
        Figure::Step(_) => {
            let steps = medians.windows(2).map(|pair| pair[1] / pair[0]);
            steps.reduce(f64::min)
        }
        Figure::Saturation(..) => {
            let (first, second) = medians.split_at_checked(sizes.len())?;
            Some(saturated_from(sizes, first)? / saturated_from(sizes, second)?)
        }
    }
}

/// The size from which a curve through these medians is within [`SATURATED`] of its largest value,
/// interpolated linearly from the size before; the first size if the curve starts saturated.
fn saturated_from(sizes: &[f64], medians: &[f64]) -> Option<f64> {
    let wanted = SATURATED * medians.iter().copied().reduce(f64::max)?;
    let reached = medians.iter().position(|median| *median >= wanted)?;
    let size = *sizes.get(reached)?;
    let Some(before) = reached.checked_sub(1) else {
        return Some(size);
    };
    let share = (wanted - medians[before]) / (medians[reached] - medians[before]);
    Some(sizes[before] + share * (size - sizes[before]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn along() -> Along {
        let levels = [100, 200, 400].map(Label::Number).to_vec();
        Along {
            factor: "size".into(),
            levels,
            at: Levels::new(),
        }
    }

    #[test]
    fn figures_are_of_the_medians_in_order() {
        assert_eq!(
            of(&Figure::Spread(along()), &[4.0, 2.0, 3.0], &[]),
            Some(2.0)
        );
        assert_eq!(of(&Figure::Step(along()), &[4.0, 2.0, 3.0], &[]), Some(0.5));
        assert_eq!(
            of(
                &Figure::Ratio(Levels::new(), Levels::new()),
                &[4.0, 2.0],
                &[]
            ),
            Some(2.0)
        );
        assert_eq!(
            of(
                &Figure::Difference(Levels::new(), Levels::new()),
                &[4.0, 1.0],
                &[]
            ),
            Some(3.0)
        );
    }

    #[test]
    fn a_curve_is_saturated_where_a_straight_line_reaches_the_share() {
        let sizes = [100.0, 200.0, 400.0];
        assert_eq!(saturated_from(&sizes, &[99.0, 100.0, 100.0]), Some(100.0));
        assert_eq!(saturated_from(&sizes, &[50.0, 100.0, 100.0]), Some(190.0));
        // A curve that drops later is saturated from where it first came near its maximum.
        assert_eq!(
            saturated_from(&sizes, &[10.0, 100.0, 50.0]),
            Some(100.0 + 85.0 / 90.0 * 100.0)
        );
        let figure = Figure::Saturation(along(), Levels::new(), Levels::new());
        assert_eq!(
            of(&figure, &[99.0, 100.0, 100.0, 50.0, 100.0, 100.0], &sizes),
            Some(100.0 / 190.0)
        );
    }

    #[test]
    fn goodput_is_compared_with_a_link_whose_every_segment_is_a_message() {
        // 800 B of user data with 90 B of headers at 2.5 Gbit/s.
        let curve = 2500.0 * 800.0 / 890.0;
        let found = of(
            &Figure::OverSingle(Levels::new(), 2_500_000_000),
            &[curve * 1.5],
            &[800.0],
        );
        assert!((found.expect("a value") - 1.5).abs() < 1e-9, "{found:?}");
    }
}
