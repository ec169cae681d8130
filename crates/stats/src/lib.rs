//! Statistics: quantiles, regression lines, changes, and bootstrap intervals that are the same on every machine.
#![warn(missing_docs)]

mod batches;
mod bootstrap;
mod change;
mod groups;
mod polish;
mod quantile;
mod regression;
mod spread;
mod trend;

pub use batches::{batch_length, batch_means_error};
pub use bootstrap::{Interval, Side, estimate_interval, median_interval, ratio_interval};
pub use change::{Error, Estimate, Scale, Sides, change_of_two, hold_together};
pub use groups::gap;
pub use polish::{Entry, Polished, Score, polished};
pub use quantile::{median, quantile, quantile_of_sorted};
pub use regression::{LineFit, fit_line};
pub use spread::{Spread, spread};
pub use trend::{Trend, trend};
