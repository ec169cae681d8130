//! Statistics: quantiles, regression lines, modes, changes, and bootstrap intervals that are the same on every machine.

mod batches;
mod bootstrap;
mod change;
mod elasticity;
mod estimate;
mod groups;
mod looked;
mod modes;
mod polish;
mod quantile;
mod regression;
mod spread;
mod together;
mod trend;

pub use batches::{batch_length, batch_means_half_width};
pub use bootstrap::{
    Interval, RESAMPLES, Side, geometric_interval, median_interval, ratio_interval,
};
pub use change::{Estimate, Scale, change, paired_change};
pub use elasticity::{Elasticity, elasticity};
pub use estimate::estimate_interval;
pub use groups::gap;
pub use looked::LOOKED;
pub use modes::two_modes;
pub use polish::{Entry, Polished, Score, polished};
pub use quantile::{median, quantile, quantile_of_sorted};
pub use regression::{LackOfFit, LineFit, fit_line};
pub use spread::{Spread, spread};
pub use together::hold_together;
pub use trend::{Trend, trend};
