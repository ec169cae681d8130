//! The types of which figures and findings consist, and the quantiles that pictures draw.

pub use bitcost_stats::{
    Interval, Outlook, Polished, Score, SeparatedRanges, Spread, TwoModes, quantile_of_sorted,
};
