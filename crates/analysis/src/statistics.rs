//! The types of which figures and findings consist, and the quantiles that pictures draw.

pub use bitcost_stats::{Interval, Polished, Score, Spread, quantile_of_sorted};
