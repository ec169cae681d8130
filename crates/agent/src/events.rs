//! The events that the thread of a run receives: commands of the controller, and reports of the
//! traffic threads.

use bitcost_model::protocol::{Addresses, Origin, SentCounts, Start};
use bitcost_traffic::Flow;

use crate::affinity::Affinity;
use crate::refusal::Refusal;

/// A command of the controller to a run.
pub enum Command {
    /// The addresses on which the other endpoint listens, and what started its processes.
    Connect(Addresses, Option<Origin>),
    /// Start the traffic.
    Start(Start),
    /// The number of messages that the other endpoint sent.
    Finish(SentCounts),
    /// End the run without a result.
    Stop,
}

/// An event that the thread of a run receives.
pub enum Event {
    /// A command from the controller.
    Command(Command),
    /// A traffic thread runs.
    Started(Started),
    /// The loop of a flow has ended.
    Ended(FlowIndex, Ended),
}

/// The index of a flow and of its part.
#[derive(Clone, Copy)]
pub struct FlowIndex {
    pub part: usize,
    pub flow: usize,
}

/// The flow whose loop has ended, or the reason why it failed.
pub type Ended = Result<Box<dyn Flow>, Refusal>;

/// A traffic thread that has started.
pub struct Started {
    pub part: usize,
    pub thread_id: i32,
    pub affinity: Affinity,
}
