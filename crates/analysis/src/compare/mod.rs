//! What changed from one set of runs to another: the change of each metric in each cell, its
//! interval, and a verdict.

mod change;
mod differences;
mod found;
mod matching;
mod pairs;
mod remarks;
mod study;
mod verdict;

pub use change::{Change, Shift};
pub use found::{ComparedCell, Comparison, THRESHOLD_PCT, Unmatched};
pub use pairs::{across, within};
pub use study::{compared_metrics, of_study, with_first};
pub use verdict::Verdict;
