//! Counters in, verdict out: what limited a run, by name and with evidence, or *unknown*.
//!
//! Pure: nothing is read, nothing is kept. Also here: what a message costs in two parts, runs in two modes, and doubts
//! about a study's result.

mod alike;
mod bounds;
mod cells;
mod cost;
mod decide;
mod execution;
mod explanation;
mod figures;
mod hops;
mod limiter;
mod lints;
mod modality;
mod rules;
mod series;
mod signals;
mod sparse;
mod table;

pub use cells::{ExplainedCell, ExplainedRun};
pub use cost::{CostModel, Spent, Unit, cost_models, no_cost_model, per_byte_share};
pub use decide::{decide, explain_run};
pub use execution::Explainer;
pub use explanation::{Explanation, cell_json, cell_words, evidence_words, verdict_json, verdict_text};
pub use figures::RunFigures;
pub use hops::Hop;
pub use limiter::{Bound, Candidate, Confidence, Evidence, Limiter, Verdict};
pub use lints::Lint;
pub use modality::{Covariate, Modality, modality};
pub use signals::{EndTimes, Loss, Signals, Tcp, intervals};
pub use sparse::explain_figures;
pub use table::explain_table;
