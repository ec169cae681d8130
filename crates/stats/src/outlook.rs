//! What more blocks would show of an interval whose width shrinks as 1 ÷ √n.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::bootstrap::Interval;
use crate::detect::BLOCKS_MOST;

/// Half of a 95 % interval in standard errors.
const HALF: f64 = 1.96;

/// How much wider an interval must be that settles a question where it is looked at after every
/// block, so that one of twenty questions is settled wrongly at most (docs/method/statistics.md, Stop rule).
pub const LOOKED: f64 = 1.5;

/// With a lower chance than this, more blocks are not worth their time.
const CHANCE_LEAST: f64 = 0.05;

/// What more blocks would show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The number of blocks with which the question is settled if the estimate stays where it is;
    /// absent where 1000 are not enough.
    pub blocks: Option<usize>,
    /// The probability that it is settled with the most blocks that may be made.
    pub chance: f64,
}

impl Outlook {
    /// Nothing is known that more blocks could settle.
    pub const NONE: Outlook = Outlook {
        blocks: None,
        chance: 0.0,
    };

    /// Whether more blocks are worth their time.
    pub fn has_chance(&self) -> bool {
        self.chance >= CHANCE_LEAST
    }

    /// What more blocks would show of two questions that must both be settled.
    pub fn both(self, other: Outlook) -> Outlook {
        Outlook {
            blocks: self.blocks.zip(other.blocks).map(|(a, b)| a.max(b)),
            chance: self.chance.min(other.chance),
        }
    }

    fn new(made: usize, times: f64, chance: f64) -> Outlook {
        let blocks = (made as f64 * times).ceil().max(made as f64 + 1.0);
        Outlook {
            blocks: (blocks <= BLOCKS_MOST as f64).then_some(blocks as usize),
            chance,
        }
    }
}

impl Interval {
    /// The interval with its bounds this many times as far from the estimate.
    pub fn widened(&self, factor: f64) -> Interval {
        let moved = |bound: f64| bound + (factor - 1.0) * (bound - self.value);
        self.map(moved)
    }
}

/// When the interval of `made` blocks, widened by `factor`, lies within both bounds or outside of
/// them, and the chance that it does so without being widened when `most` blocks are made. The
/// later estimate is normal about the present one.
pub fn outlook_of_bounds(
    interval: &Interval,
    (least, greatest): (f64, f64),
    factor: f64,
    (made, most): (usize, usize),
) -> Outlook {
    let (Some(low), Some(high)) = (interval.low, interval.high) else {
        return Outlook::NONE;
    };
    let (half, value) = ((high - low) / 2.0, interval.value);
    let (above, below) = (value - least, greatest - value);
    let distance = if above >= 0.0 && below >= 0.0 {
        above.min(below)
    } else {
        above.min(below).abs()
    };
    let share = made as f64 / most as f64;
    let reach = half * share.sqrt();
    let error = half / HALF * (1.0 - share).max(0.0).sqrt();
    let chance = Normal::new(value, error).map_or(0.0, |later| {
        let within = later.cdf(greatest - reach) - later.cdf(least + reach);
        within.max(0.0) + later.cdf(least - reach) + later.sf(greatest + reach)
    });
    Outlook::new(made, (factor * half / distance).powi(2), chance)
}

/// When an interval that has this width with `made` blocks has the requested one, of at most `most`
/// blocks. The standard deviation that it comes from is known to one part in √(2 (made − 1)).
pub fn outlook_of_width(width: f64, wanted: f64, (made, most): (usize, usize)) -> Outlook {
    let later = width * (made as f64 / most as f64).sqrt();
    let error = (2.0 * made.saturating_sub(1) as f64).sqrt().recip();
    let chance = match Normal::new(1.0, error) {
        Ok(spread) if most > made => spread.cdf(wanted / later),
        _ => 0.0,
    };
    Outlook::new(made, (width / wanted).powi(2), chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE_ABOVE: f64 = f64::INFINITY;

    fn interval(value: f64, half: f64) -> Interval {
        Interval {
            value,
            low: Some(value - half),
            high: Some(value + half),
        }
    }

    #[test]
    fn four_times_the_blocks_halve_an_interval() {
        let found = outlook_of_bounds(&interval(1.25, 0.5), (1.0, NONE_ABOVE), 1.0, (10, 100));
        assert_eq!(found.blocks, Some(40));
        assert!(found.has_chance(), "{found:?}");
        let outside = outlook_of_bounds(&interval(0.75, 0.5), (1.0, NONE_ABOVE), 1.0, (10, 100));
        assert_eq!(outside.blocks, Some(40));
        let between = outlook_of_bounds(&interval(1.25, 1.0), (1.0, 1.75), 1.0, (10, 1000));
        assert_eq!(between.blocks, Some(160));
        assert_eq!(outlook_of_width(20.0, 10.0, (10, 100)).blocks, Some(40));
    }

    #[test]
    fn the_chance_is_that_of_the_blocks_that_are_left() {
        let on_the_bound =
            |most| outlook_of_bounds(&interval(1.0, 0.2), (1.0, NONE_ABOVE), 1.0, (10, most));
        assert_eq!(on_the_bound(100).blocks, None);
        assert!(on_the_bound(100).has_chance());
        // Half of the blocks are made: 1.96 standard errors are needed of the rest.
        let half = on_the_bound(20).chance;
        assert!((half - 0.05).abs() < 0.001, "{half}");
        assert!(!on_the_bound(15).has_chance() && on_the_bound(10).chance == 0.0);
        assert!(!outlook_of_width(80.0, 10.0, (5, 50)).has_chance());
        assert!(outlook_of_width(80.0, 10.0, (5, 80)).has_chance());
        assert!(!outlook_of_width(11.0, 10.0, (60, 60)).has_chance());
    }

    #[test]
    fn an_interval_without_bounds_or_width_promises_nothing() {
        let one = Interval::alone(1.0);
        let bounds = (0.5, NONE_ABOVE);
        assert_eq!(outlook_of_bounds(&one, bounds, 1.0, (5, 9)), Outlook::NONE);
        let same = outlook_of_bounds(&interval(1.0, 0.0), bounds, 1.0, (5, 9));
        assert_eq!(same.chance, 0.0);
        assert_eq!(one.widened(2.0), one);
        assert_eq!(interval(2.0, 1.0).widened(1.5), interval(2.0, 1.5));
    }
}
