//! Executions of one plan in order of time: the series of each metric and cell, its change points, and what changed on
//! the hosts at each of them.

mod between;
mod error;
mod found;
mod order;
mod plans;
mod series;
mod speed;
mod state;

pub use error::HistoryError;
pub use found::{History, Past, Point, Series, Shifted, history};
