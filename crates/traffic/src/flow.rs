//! The traits of a flow: one endpoint of one connection or pair of sockets, and its outcome.

use std::io;
use std::os::fd::OwnedFd;

use bitcost_model::record::{FlowRecord, InEffect};

use crate::control::Control;

#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    #[error("{asked}: {error}{hint}")]
    System {
        asked: String,
        error: io::Error,
        hint: String,
    },
    #[error("{0}")]
    Peer(String),
    /// The endpoints did not reach each other.
    #[error("{0}")]
    Unreached(String),
}

impl TrafficError {
    pub(crate) fn system(asked: impl Into<String>) -> impl FnOnce(io::Error) -> TrafficError {
        |error| TrafficError::System {
            asked: asked.into(),
            error,
            hint: String::new(),
        }
    }

    /// Whether a connection ended, or was not made, and another may be.
    pub(crate) fn ends_connection(&self) -> bool {
        use io::ErrorKind::{
            BrokenPipe, ConnectionRefused, ConnectionReset, HostUnreachable, NetworkUnreachable,
            TimedOut,
        };
        let ends = [
            BrokenPipe,
            ConnectionRefused,
            ConnectionReset,
            HostUnreachable,
            NetworkUnreachable,
            TimedOut,
        ];
        match self {
            TrafficError::System { error, .. } => ends.contains(&error.kind()),
            TrafficError::Peer(_) => true,
            TrafficError::Unreached(_) => false,
        }
    }

    pub(crate) fn errno(
        asked: impl Into<String>,
    ) -> impl FnOnce(rustix::io::Errno) -> TrafficError {
        |error| TrafficError::system(asked)(error.into())
    }
}

pub struct Ready {
    pub in_effect: Vec<InEffect>,
    pub flow: Box<dyn Flow>,
}

/// What a workload makes of a socket.
pub(crate) struct Made {
    pub in_effect: Vec<InEffect>,
    pub traffic: Box<dyn Traffic>,
}

pub trait Flow: Traffic {
    /// A second handle of the socket, with which another thread can shut it down while a call
    /// blocks.
    fn handle(&self) -> io::Result<OwnedFd>;
}

pub trait Traffic: Send {
    /// True where [`Traffic::run`] opens descriptors that outlive it, so that its thread must share
    /// the process's table of descriptors.
    fn keeps_new_files(&self) -> bool {
        false
    }

    /// Moves messages until the run is over, then closes the flow normally.
    ///
    /// # Errors
    /// The operation that failed; the counts before that are in `control`.
    fn run(&mut self, control: &Control) -> Result<(), TrafficError>;

    /// The record after the run without the counts, and without the facts that every socket has, given how many messages the
    /// sender counted in the window, and in all.
    fn outcome(&self, _sent: [u64; 2]) -> FlowRecord {
        FlowRecord::default()
    }
}
