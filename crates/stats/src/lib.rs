//! Numbers in, estimates out: quantiles, and bootstrap intervals that are the same on every machine.

mod bootstrap;
mod quantile;

pub use bootstrap::{Interval, RESAMPLES, Side, geometric_interval, median_interval, ratio_interval};
pub use quantile::{median, quantile};
