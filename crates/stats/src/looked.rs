//! Intervals that are looked at after every block.

use crate::bootstrap::Interval;

/// How much wider an interval must be that settles a question where it is looked at after every
/// block, so that one of twenty questions is settled wrongly at most.
pub const LOOKED: f64 = 1.5;

impl Interval {
    /// The interval with its bounds this many times as far from the estimate.
    pub fn widened(&self, factor: f64) -> Interval {
        let moved = |bound: f64| bound + (factor - 1.0) * (bound - self.value);
        self.map(moved)
    }
}
