//! The traits of a flow: one endpoint of one connection or pair of sockets, and its outcome.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;

use bitcost_model::record::{
    DelayVariation, InEffect, Latency, Pacing, Sequence, SocketSizes, TcpInfo,
};

use crate::control::Control;

/// The reason why an endpoint could not be prepared, or failed.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// A system call failed.
    #[error("{asked}: {error}{hint}")]
    System {
        /// The requested operation.
        asked: String,
        /// The kernel's answer.
        error: io::Error,
        /// The remedy, or nothing.
        hint: String,
    },
    /// The other endpoint did not connect, or failed.
    #[error("{0}")]
    Peer(String),
    /// Nobody connected from the only address that is allowed.
    #[error("{0}")]
    OtherAddress(String),
}

impl TrafficError {
    pub(crate) fn system(asked: impl Into<String>) -> impl FnOnce(io::Error) -> TrafficError {
        |error| TrafficError::System {
            asked: asked.into(),
            error,
            hint: String::new(),
        }
    }

    /// As [`TrafficError::system`], with an error number.
    pub(crate) fn errno(
        asked: impl Into<String>,
    ) -> impl FnOnce(rustix::io::Errno) -> TrafficError {
        |error| TrafficError::system(asked)(error.into())
    }
}

/// An endpoint that can start its traffic.
pub struct Ready {
    /// Settings as requested and as read back.
    pub in_effect: Vec<InEffect>,
    /// The traffic.
    pub flow: Box<dyn Flow>,
}

/// The report of an endpoint after the run, in addition to its counts.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The final state of the connection.
    pub tcp_info: Option<TcpInfo>,
    /// Loss and order by sequence numbers.
    pub sequence: Option<Sequence>,
    /// The measurements of the sender's own pacing.
    pub pacing: Option<Pacing>,
    /// Counters that only its mode has.
    pub mode_counters: BTreeMap<String, u64>,
    /// Sizes of its socket before the first message.
    pub at_start: SocketSizes,
    /// Sizes of its socket after the last one.
    pub at_end: SocketSizes,
    /// The low-water mark that a receiver chose automatically.
    pub low_water_bytes: Option<u32>,
    /// Times of the transactions or of the send calls, where requested.
    pub latency: Option<Latency>,
    /// Variation of the one-way delay, where requested.
    pub delay_variation: Option<DelayVariation>,
}

/// The number of messages that the sender sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// In the measured window.
    pub measured: u64,
    /// In the whole run.
    pub total: u64,
}

/// The traffic of one endpoint.
pub trait Flow: Send {
    /// A second handle of the socket, with which another thread can shut it down while a call
    /// blocks.
    ///
    /// # Errors
    /// The error of duplicating the descriptor.
    fn handle(&self) -> io::Result<OwnedFd>;

    /// True where [`Flow::run`] opens descriptors that outlive it, so that its thread must share
    /// the process's table of descriptors.
    fn keeps_new_files(&self) -> bool {
        false
    }

    /// Moves messages until the run is over, then closes the flow normally.
    ///
    /// # Errors
    /// The operation that failed; the counts before that are in `control`.
    fn run(&mut self, control: &Control) -> Result<(), TrafficError>;

    /// The outcome after the run, given how many messages the sender counted.
    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome::default()
    }
}
