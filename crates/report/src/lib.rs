//! A reader of the log: from an execution's events to its tables, as text for people and as JSON for programs.
//!
//! Everything is a function of the events: what is printed when an execution ends and what is printed a year later are
//! the same.

mod along;
mod ceiling;
mod checks;
pub mod compare;
mod contradiction;
mod course;
mod exclude;
pub mod frame;
mod grid;
mod imported;
mod improvement;
mod in_force;
mod json;
mod listed;
mod log;
mod markdown;
mod mode_search;
mod notes;
pub mod number;
pub mod peers;
mod plots;
mod precision;
mod reduced;
mod repeats;
mod rows;
mod single;
mod sorted;
mod summary;
mod tally;
mod text;
mod why;
mod words;

pub use along::{ALONE, LineOfCells, lines_along, numeric_factor};
pub use checks::{CheckSummary, ClaimSummary, ENOUGH_RUNS, Verdict, claim_sentence};
pub use course::Course;
pub use exclude::nothing_measured;
pub use grid::{COLUMNS, Lines, MetricTables, tables};
pub use imported::imported_json;
pub use improvement::ImprovementSummary;
pub use in_force::not_in_force;
pub use json::{json, json_text};
pub use log::Reader;
pub use markdown::markdown_summary;
pub use mode_search::{mode_search_json, mode_search_text};
pub use notes::{Remark, notes, statements};
pub use plots::{LOGARITHMIC, Plots, plots};
pub use precision::{Precision, width_over_runs_pct};
pub use repeats::{repeats_json, repeats_table, repeats_text};
pub use rows::{RunRow, Status};
pub use single::{single_json, single_text};
pub use summary::{CellSummary, ExcludedRun, Note, RECEIVE_DEMAND, RECEIVE_DEMAND_BY_SENT, ReportError, Summary};
pub use text::{TextOptions, head, measured, named, shown_metrics, text, title};
pub use why::{Doubt, Fall, Why};
