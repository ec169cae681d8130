//! From the log to figures per cell: medians with intervals, improvements, and runs that were left
//! out, with the reason.

mod answered;
mod build;
mod curves;
mod improvement;
mod known;
mod precision;
mod shown;

pub use answered::Answered;
pub(crate) use build::complete;
pub use build::precision_after;
pub use curves::{LineOfCells, lines_along, numeric_factor};
pub use improvement::ImprovementSummary;
pub(crate) use improvement::counterpart;
pub use known::{Note, Summary};
pub use precision::{Goal, Missing, Precision, width_pct};
pub use shown::{measured, shown_metrics, tabled_metrics};
