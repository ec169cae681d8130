//! The data frame that every table, file and picture is made from: one row per run, or one per
//! stretch of a run, columns named with their units.

mod intervals;
mod runs;
mod table;

pub use intervals::{Stretch, intervals_table, stretches};
pub use runs::RunRows;
pub use serde_json::Value;
pub use table::Table;
