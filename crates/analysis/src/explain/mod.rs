//! Counters in, verdict out: what limited a run, by name and with evidence, or *unknown*.
//!
//! The functions are pure: they read nothing and keep nothing. Also here: the two parts of a
//! message's cost, and warnings about a study's result.

mod alike;
mod bounds;
mod cells;
mod cost;
mod decide;
mod execution;
mod explanation;
mod figures;
mod hops;
mod in_effect;
mod levels;
mod limiter;
mod limiters;
mod load;
mod of_execution;
mod others;
mod packing;
mod proof;
mod regime;
mod regimes;
mod rivals;
mod series;
mod signals;
mod sparse;
mod stop_others;
mod table;
mod transactions;
mod warnings;

pub use alike::alike;
pub use cells::{ExplainedCell, ExplainedRun};
pub use cost::{CostModel, PacketCost, Spent, Unit, cost_models, no_cost_model, packet_cost};
pub use decide::{decide, explain_run};
pub use execution::Explainer;
pub(crate) use execution::{Kept, MANY};
pub use explanation::Explanation;
pub use figures::RunFigures;
pub use hops::Hop;
pub use limiter::{
    Bound, Candidate, Confidence, Evidence, Limiter, LimiterRow, ON_THE_PATH, Question, Step,
    Verdict,
};
pub use limiters::{LIMITERS, PATH_LOSS, quota_of};
pub(crate) use limiters::{RECEIVE_BUFFER, SEND_BUFFER, UNKNOWN, limiter};
pub use load::Load;
pub use of_execution::explanation;
pub use others::{OTHERS_PCT, Others};
pub use proof::{Decision, NotTried, Outcome, Proof, Tried};
pub use regime::{Regime, regimes};
pub use regimes::{Group, Regimes};
pub use rivals::{Rival, Rivals};
pub use signals::{EndTimes, Loss, Signals, Tcp, intervals};
pub use sparse::explain_figures;
pub use stop_others::stop_others;
pub use table::explain_table;
pub use transactions::Transactions;
pub use warnings::Warning;
