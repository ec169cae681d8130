//! The types of which figures and findings consist, and the quantiles that pictures draw.

pub use bitcost_stats::{
    Interval, Outlook, RowEffect, SeparatedRanges, Spread, TwoModes, quantile_of_sorted,
};
