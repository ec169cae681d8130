//! The events that the thread of a run receives: commands of the controller, and reports of the
//! traffic threads.

use bitcost_model::protocol::{Addresses, Origin, SentCounts, Start};
use bitcost_traffic::Flow;

use crate::refusal::Refusal;

pub enum Command {
    /// The addresses on which the other endpoint listens, and what started its processes.
    Connect(Addresses, Option<Origin>),
    Start(Start),
    End,
    Finish(SentCounts),
    Stop,
}

pub enum Event {
    Command(Command),
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
