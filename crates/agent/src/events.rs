//! The events that the thread of a run receives: commands of the controller, and reports of the
//! traffic threads.

use bitcost_model::protocol::ToAgent;
use bitcost_traffic::Flow;

use crate::refusal::Refusal;

pub enum Event {
    Command(ToAgent),
    Started(Started),
    Ended(FlowIndex, Ended),
}

#[derive(Clone, Copy)]
pub struct FlowIndex {
    pub part: usize,
    pub flow: usize,
}

/// The flow whose loop has ended, or the reason why it failed.
pub type Ended = Result<Box<dyn Flow>, Refusal>;

pub struct Started {
    pub part: usize,
    pub thread_id: i32,
    /// The CPUs that it is pinned to, in order; empty: it is not pinned.
    pub cpus: Vec<u32>,
}
