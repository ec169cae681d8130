//! From records to figures: the log, the metrics of a run, summaries, comparisons, and what limited
//! a flow. Nothing is formatted for output here.

pub mod caveat;
pub mod cells;
pub mod checks;
pub mod compare;
pub mod experiment;
pub mod explain;
pub mod findings;
pub mod frame;
pub mod ledger;
pub mod log;
pub mod mesh;
pub mod metrics;
pub mod profile;
pub mod statistics;
pub mod summary;
pub mod theory;
