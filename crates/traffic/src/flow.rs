//! The shape that every workload has: a pending receiver, a ready end, and what is left after the run.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::record::{DelayVariation, InForce, Latency, Pacing, Sequence, SocketSizes, TcpInfo};

use crate::control::Control;
use crate::shared::Shared;

/// Why an end could not be made ready or could not go on.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// A system call failed.
    #[error("{asked}: {error}{hint}")]
    System {
        /// What was asked.
        asked: String,
        /// What the kernel answered.
        error: io::Error,
        /// What to do, or nothing.
        hint: String,
    },
    /// The other end did not come, or not the right one.
    #[error("{0}")]
    Peer(String),
    /// A workload without a row in the table.
    #[error("no workload `{0}` in this version; use the same bitcost on both hosts")]
    NoSuchWorkload(&'static str),
}

impl TrafficError {
    pub(crate) fn system(asked: impl Into<String>) -> impl FnOnce(io::Error) -> TrafficError {
        |error| TrafficError::System { asked: asked.into(), error, hint: String::new() }
    }

    /// As [`TrafficError::system`], with an error number.
    pub(crate) fn errno(asked: impl Into<String>) -> impl FnOnce(rustix::io::Errno) -> TrafficError {
        |error| TrafficError::system(asked)(error.into())
    }
}

/// A receiver that waits for its sender.
pub trait Pending: Send {
    /// Where it waits.
    fn address(&self) -> SocketAddr;

    /// Waits until the sender has shown the run's token.
    ///
    /// # Errors
    /// When nobody did in time.
    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError>;
}

/// An end that can begin.
pub struct Ready {
    /// Settings as asked and as read back.
    pub in_force: Vec<InForce>,
    /// The traffic.
    pub flow: Box<dyn Flow>,
}

/// What an end knows after the run beside its counts.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The connection's last state.
    pub tcp_info: Option<TcpInfo>,
    /// What sequence numbers told.
    pub sequence: Option<Sequence>,
    /// What the sender's own pacing did.
    pub pacing: Option<Pacing>,
    /// What only its mode counts.
    pub mode_counters: BTreeMap<String, u64>,
    /// Its socket before the first message.
    pub at_begin: SocketSizes,
    /// Its socket after the last one.
    pub at_end: SocketSizes,
    /// The low-water mark that a receiver set by itself.
    pub low_water_bytes: Option<u32>,
    /// Times of the transactions or of the send calls, where they were asked for.
    pub latency: Option<Latency>,
    /// How one-way delays differed, where that was asked for.
    pub delay_variation: Option<DelayVariation>,
}

/// How many messages the sender sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// In the measured window.
    pub measured: u64,
    /// In the whole run.
    pub total: u64,
}

/// The traffic of one end.
pub trait Flow: Send {
    /// A second handle of the socket, to shut it down from another thread when a call does not return.
    ///
    /// # Errors
    /// The kernel's.
    fn handle(&self) -> io::Result<OwnedFd>;

    /// True where [`Flow::run`] leaves descriptors behind that it opened, so that its thread has to share
    /// the process's table of them.
    fn keeps_new_files(&self) -> bool {
        false
    }

    /// Moves messages until `control` says that it is over, then ends the flow in good order.
    ///
    /// # Errors
    /// What failed; the counts up to then stay in `control`.
    fn run(&mut self, control: &Control) -> Result<(), TrafficError>;

    /// The same flow as one of several in a thread; absent where it needs a thread of its own.
    fn as_shared(&mut self) -> Option<&mut dyn Shared> {
        None
    }

    /// What is known after it has run, given how many messages the sender counted.
    fn outcome(&self, sent: Sent) -> Outcome;
}
