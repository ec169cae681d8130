//! What controller and agent say to each other.

use std::net::{IpAddr, SocketAddr};

use model::conditions::Conditions;
use model::machine::HostDescription;
use model::record::{EndRecord, InForce, OffloadsInForce, Role, Sample};
use serde::{Deserialize, Serialize};

/// Secret of one run, known to its two ends.
pub type Token = [u8; 16];

/// What an agent needs to know to make its end of a run ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Number of the run, for error messages.
    pub run: u32,
    /// The part to play.
    pub role: Role,
    /// What the run does.
    pub conditions: Conditions,
    /// The interface towards the peer, whose offloads are set.
    pub device: String,
    /// CPUs for the traffic's thread; empty: any.
    pub cpus: Vec<u32>,
    /// The secret by which the two ends know each other.
    pub token: Token,
    /// Receiver: the address to listen on.
    pub listen_on: Option<IpAddr>,
    /// Sender: where the receiver listens, by flow.
    pub connect_to: Vec<SocketAddr>,
}

/// When the run begins, on the agent's own monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// First message.
    pub begin_ns: u64,
    /// Begin of the measured window.
    pub window_begin_ns: u64,
    /// End of the measured window.
    pub window_end_ns: u64,
    /// The sender's last message: late enough that the receiver's window has ended.
    pub stop_ns: u64,
}

/// From the controller. Any message renews the agent's lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to_agent", rename_all = "snake_case")]
pub enum ToAgent {
    /// The first message.
    Hello {
        /// [`crate::PROTOCOL`].
        protocol: u32,
        /// Version of the controller's program.
        version: String,
    },
    /// Asks for [`FromAgent::Host`].
    Describe {
        /// The interface towards the peer.
        device: String,
    },
    /// Asks for [`FromAgent::Clock`].
    Clock,
    /// Asks to make an end ready: [`FromAgent::Listening`] (receiver only), then [`FromAgent::Ready`].
    Prepare(Box<Prepare>),
    /// Begins the run that is ready. [`FromAgent::Progress`] follows, and from a sender [`FromAgent::Done`].
    Start(Start),
    /// Tells a receiver what was sent, so that it can finish with [`FromAgent::Done`].
    Finish {
        /// By flow: messages sent in the measured window, and in the whole run.
        sent: Vec<[u64; 2]>,
    },
    /// Ends the present run at once; answered by [`FromAgent::Stopped`].
    Stop,
    /// Nothing but a sign of life.
    Renew,
}

/// From an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from_agent", rename_all = "snake_case")]
pub enum FromAgent {
    /// The answer to the first message.
    Hello {
        /// [`crate::PROTOCOL`].
        protocol: u32,
        /// Version of the agent's program.
        version: String,
    },
    /// What the host is.
    Host(Box<HostDescription>),
    /// The host's monotonic clock.
    Clock {
        /// Now.
        now_ns: u64,
    },
    /// The receiver waits here for its sender.
    Listening {
        /// The address with its port, by flow.
        addresses: Vec<SocketAddr>,
    },
    /// The end can start.
    Ready {
        /// Settings of the socket as asked and as read back.
        in_force: Vec<InForce>,
        /// Offloads as asked and as read back.
        offloads: OffloadsInForce,
    },
    /// A reading while the run goes on.
    Progress(Sample),
    /// The run is over at this end.
    Done(Box<EndRecord>),
    /// The run was ended by [`ToAgent::Stop`].
    Stopped,
    /// What was asked could not be done; the agent is ready for the next run.
    Failed {
        /// What was asked, what happened, what to do.
        reason: String,
    },
}
