//! From the log to figures per cell: medians with intervals, improvements, and runs that were left
//! out, with the reason.

mod answered;
mod build;
mod curves;
mod improvement;
mod precision;
mod shown;
mod summarized;

pub use answered::Answered;
pub use build::{Note, Summary};
pub use curves::{LineOfCells, lines_along, numeric_factor};
pub use improvement::ImprovementSummary;
pub use precision::{Goal, Missing, Precision, width_pct};
pub use shown::{measured, shown_metrics, tabled_metrics};
pub use summarized::summarized_cells;
