//! The types of which figures and findings consist, and the quantiles that pictures draw.

pub use bitcost_stats::{Interval, LineFit, Spread, quantile_of_sorted};
