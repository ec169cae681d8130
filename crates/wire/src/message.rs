//! What controller and agent say to each other.

use std::net::{IpAddr, SocketAddr};

use model::conditions::Conditions;
use model::machine::HostDescription;
use model::record::{EndRecord, IdleBaseline, Role, Sample};
use serde::{Deserialize, Serialize};

/// Secret of one run, known to its two ends.
pub type Token = [u8; 16];

/// What an agent needs to know to make its end of a run ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Number of the run, for error messages.
    pub run: u32,
    /// The interface towards the peer, whose offloads are set.
    pub device: String,
    /// CPUs for the traffic's threads; empty: any.
    pub cpus: Vec<u32>,
    /// The secret by which the two ends know each other.
    pub token: Token,
    /// What goes on at the same time; the first part's conditions are those of the host, too.
    pub parts: Vec<Part>,
}

/// One workload of a run, as one end plays it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// What the end plays.
    pub role: Role,
    /// What the part does.
    pub conditions: Conditions,
    /// The address to listen on; absent where the end sends.
    pub listen_on: Option<IpAddr>,
}

/// Of each part, of each flow that the end receives, where it listens; nothing of parts that it sends.
pub type Addresses = Vec<Vec<SocketAddr>>;

/// Of each part, of each flow that the end sends: messages of the measured window, and of the whole run.
pub type SentCounts = Vec<Vec<[u64; 2]>>;

/// When the run begins, on the agent's own monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// First message.
    pub begin_ns: u64,
    /// Begin of the measured window.
    pub window_begin_ns: u64,
    /// End of the measured window.
    pub window_end_ns: u64,
    /// The last message sent: late enough that the other end's window has ended.
    pub stop_ns: u64,
}

/// The way from a host to an address, as its kernel chooses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The interface; loopback for an address of the host itself.
    pub device: String,
    /// The host's own address on that way.
    pub source: IpAddr,
    /// Whether the address is one of the host itself.
    pub is_local: bool,
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
    /// Asks for [`FromAgent::Route`].
    Route {
        /// An address, such as the other end's.
        to: IpAddr,
    },
    /// Asks for [`FromAgent::AddressesOf`].
    AddressesOf {
        /// One of the host's interfaces.
        device: String,
    },
    /// Asks for [`FromAgent::Clock`].
    Clock,
    /// Asks to measure the host for a while with nothing going on: [`FromAgent::Idle`].
    Idle {
        /// How long.
        length_ms: u32,
    },
    /// Asks to make an end ready: [`FromAgent::Listening`].
    Prepare(Box<Prepare>),
    /// Tells where the other end listens, so that both can meet: [`FromAgent::Ready`].
    Meet {
        /// The other end's addresses.
        addresses: Addresses,
    },
    /// Begins the run that is ready. [`FromAgent::Progress`] follows, then [`FromAgent::Sent`].
    Start(Start),
    /// Tells what the other end sent, so that this one can finish with [`FromAgent::Done`].
    Finish {
        /// The other end's counts.
        sent: SentCounts,
    },
    /// Ends the present run at once; answered by [`FromAgent::Stopped`].
    Stop,
    /// Nothing but a sign of life; answered by [`FromAgent::Alive`].
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
    /// The way to an address.
    Route(Route),
    /// The addresses of an interface, without those of the link alone.
    AddressesOf {
        /// In the kernel's order.
        addresses: Vec<IpAddr>,
    },
    /// Nothing but a sign of life.
    Alive,
    /// The host's monotonic clock.
    Clock {
        /// Now.
        now_ns: u64,
    },
    /// What the host did while nothing of bitcost went on.
    Idle(Box<IdleBaseline>),
    /// Where the end listens.
    Listening {
        /// Its addresses.
        addresses: Addresses,
    },
    /// The ends have met; this one can start.
    Ready,
    /// A reading while the run goes on.
    Progress(Box<Sample>),
    /// This end sends nothing more.
    Sent {
        /// What it sent.
        sent: SentCounts,
    },
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
