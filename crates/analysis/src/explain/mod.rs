//! Counters in, verdict out: what limited a run, by name and with evidence, or *unknown*.
//!
//! The functions are pure: they read nothing and keep nothing. Also here: warnings about a study's result.

mod behind;
mod cards;
mod cells;
mod cost;
mod decide;
mod execution;
mod figures;
mod foreign;
mod hops;
mod kept;
mod limiter;
mod limiters;
mod load;
mod others;
mod packets;
mod proof;
mod series;
mod signals;
mod so_far;
mod tcp;
mod transactions;
mod warnings;
mod watched;

pub use behind::Behind;
pub use cards::{CardSignals, ReceiveCpu};
pub use cells::{ExplainedCell, ExplainedRun};
pub use cost::{Packet, PacketCost, packet_line};
pub use decide::decide;
pub use execution::Explanation;
pub(crate) use execution::explanation;
pub use foreign::Foreign;
pub use hops::Hop;
pub(crate) use kept::{Kept, MANY};
pub use limiter::{
    Bound, Candidate, Confidence, Evidence, Limiter, LimiterRow, ON_THE_PATH, Verdict,
};
pub use limiters::{LIMITERS, quota_of};
pub(crate) use limiters::{MTU_BLACK_HOLE, UNKNOWN, limiter};
pub use load::Load;
pub(crate) use others::OFFLOADS;
pub use others::Others;
pub(crate) use packets::full_segment;
pub use packets::{Packets, Unheard};
pub use proof::{Decision, NotTried, Outcome, Proof, Remedy, Tried};
pub use signals::{EndTimes, Loss, Signals};
pub use so_far::SoFar;
pub use tcp::Tcp;
pub(crate) use tcp::WINDOW_OF_ROUTE;
pub use transactions::{Restarts, Transactions};
pub use warnings::Warning;
pub use watched::{Listed, Watched, watched};
