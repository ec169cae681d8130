//! The runs of an execution, each in its cell or among the excluded ones, and the figures of each
//! cell.

mod cell;
mod machine;
mod row;
mod runs;

pub use cell::{ALONE, COVERED_FROM, CellSummary, Figure, RECEIVE_DEMAND, coverage_pct, has};
pub(crate) use cell::{Places, named};
pub(crate) use machine::{machine_caveat, machine_words};
pub use row::{ExcludedRun, RunRow, Status};
pub(crate) use row::{Told, used_by_cell};
pub(crate) use runs::CellRuns;
