//! The messages between controller and agent.

use std::net::{IpAddr, SocketAddr};

use crate::conditions::Conditions;
use crate::constants::HostConstants;
use crate::machine::HostDescription;
use crate::record::{EndpointRecord, IdleBaseline, Role, Sample};
use crate::workload::Workload;
use serde::{Deserialize, Serialize};

/// Secret of one run, known to its two endpoints.
pub type Token = [u8; 16];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Peer {
    #[default]
    Bitcost,
    /// An iperf3 server. It waits for a connection for each flow, also of those that it sends.
    Iperf3,
}

impl Peer {
    /// True for an agent of bitcost.
    pub fn is_bitcost(&self) -> bool {
        *self == Peer::Bitcost
    }
}

/// Everything that an agent needs to prepare its endpoint of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// Number of the run, for error messages.
    pub run: u32,
    /// The interface towards the peer, whose offloads are set.
    pub device: String,
    /// CPUs for the traffic's threads; empty: any.
    pub cpus: Vec<u32>,
    /// A CPU of the other endpoint's traffic, where both endpoints are on one machine and this one
    /// measures how far their CPUs are from each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer_cpu: Option<u32>,
    /// The CPUs whose soft interrupts this endpoint times, where the kernel permits it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub softirq_cpus: Vec<u32>,
    /// The secret by which the two endpoints recognise each other.
    pub token: Token,
    /// The concurrent parts of the run; the first part's conditions also apply to the host.
    pub parts: Vec<Part>,
    /// How the endpoint receives, if its interface is one of a lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiving: Option<Receiving>,
    #[serde(default, skip_serializing_if = "Peer::is_bitcost")]
    pub peer: Peer,
    /// Whether the controller is reached over a network, which may fail for as long as the run waits for data: the agent's
    /// lease is that long.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_remote: bool,
    /// Whether this endpoint samples its host's CPUs in the window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_profiled: bool,
    /// Whether what streams of TCP that end with their time alone have under way then is thrown away: it belongs to no window.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub discards: bool,
}

impl Prepare {
    /// Whether what a part has under way at its end is thrown away.
    pub fn discards_rest(&self, part: usize) -> bool {
        let is_stream = |part: &Part| {
            part.conditions.workload == Workload::TcpStream && !part.conditions.is_bounded()
        };
        let of_both = self.discards && self.peer.is_bitcost();
        of_both && self.parts.get(part).is_some_and(is_stream)
    }
}

/// How the interface of a host of a lab receives. It is set before each run, and ends with the lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receiving {
    /// Whether the interface's kernel threads run on the CPUs of the endpoint's traffic alone.
    /// Otherwise the scheduler places them.
    pub has_own_cpus: bool,
    /// Interrupt moderation of the interface in runs in which it receives a stream, in
    /// microseconds; absent where it cannot be set.
    pub moderation_us: Option<u32>,
}

/// One workload of a run, as one endpoint plays it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    pub role: Role,
    pub conditions: Conditions,
    /// The address to listen on; absent where the endpoint opens the flows.
    pub listen_on: Option<IpAddr>,
}

/// The process that started everything of one endpoint: the controller of its agent, or the agent
/// itself where its parent also serves others. The other endpoint recognises by it which processes of
/// a shared host belong to the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The kernel's boot (`/proc/sys/kernel/random/boot_id`): numbers of another kernel's processes
    /// mean nothing here.
    pub boot_id: String,
    /// Its number in the `/proc` that its agent sees.
    pub pid: u32,
    /// When it started, in ticks since the boot (proc_pid_stat(5), field 22).
    pub started_ticks: u64,
}

/// Where an endpoint listens for the flows of each part; absent for parts whose flows it opens.
pub type Addresses = Vec<Option<SocketAddr>>;

/// For each part and each flow that the endpoint sends: the messages of the measured window, and of
/// the whole run.
pub type SentCounts = Vec<Vec<[u64; 2]>>;

/// The times of the run, on the agent's own monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The time of the first message.
    pub begin_ns: u64,
    pub window_start_ns: u64,
    pub window_end_ns: u64,
    /// The time of the last message: late enough that the other endpoint's window has ended.
    pub stop_ns: u64,
}

/// The route from a host to an address, as its kernel chooses it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The interface; loopback for an address of the host itself that is not of one link.
    pub device: String,
    pub source: IpAddr,
    /// Whether the address is one of the host itself.
    pub is_local: bool,
}

/// A message from the controller. Any message renews the agent's lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "to_agent", rename_all = "snake_case")]
pub enum ToAgent {
    Hello {
        /// [`crate::protocol::PROTOCOL`].
        protocol: u32,
        version: String,
    },
    /// Asks for [`FromAgent::Host`].
    Describe { device: String },
    /// Asks for [`FromAgent::Route`].
    Route {
        /// An address, such as the other endpoint's.
        to: IpAddr,
        /// The interface towards an address of one link; empty: the kernel chooses.
        #[serde(default)]
        device: String,
    },
    /// Asks for [`FromAgent::AddressesOf`].
    AddressesOf { device: String },
    /// Asks for [`FromAgent::Clock`].
    Clock,
    /// Asks the agent to measure the idle host for some time: [`FromAgent::Idle`].
    Idle { length_ms: u32 },
    /// Asks the agent to measure the constants of its host: [`FromAgent::Constants`].
    Constants {
        /// Where they are measured; absent: wherever the agent may run.
        cpu: Option<u32>,
    },
    /// Asks the agent whether it may sample the CPUs of its host: [`FromAgent::Profilable`].
    TryProfile,
    /// Asks the agent to read one end of connections that another program holds: [`FromAgent::Host`], then
    /// [`FromAgent::Done`].
    Observe {
        /// Its end and the other of each.
        connections: Vec<[SocketAddr; 2]>,
        /// Whether its end sends most of the data, or receives them.
        role: Role,
        length_ms: u32,
    },
    /// Asks the agent to prepare an endpoint: [`FromAgent::Listening`].
    Prepare(Box<Prepare>),
    /// Reports where the other endpoint listens, so that both can connect: [`FromAgent::Ready`].
    Meet {
        addresses: Addresses,
        /// What started the other endpoint's processes, if it said so.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// Starts the run that is prepared. [`FromAgent::Progress`] follows, then [`FromAgent::Sent`].
    Start(Start),
    /// Ends the window of the present run now: what was measured is kept, as at its planned end.
    End,
    /// Reports what the other endpoint sent, so that this one can finish with [`FromAgent::Done`].
    Finish { sent: SentCounts },
    /// Ends the present run at once; answered by [`FromAgent::Stopped`].
    Stop,
    /// A keep-alive message; answered by [`FromAgent::Alive`].
    Renew,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "from_agent", rename_all = "snake_case")]
pub enum FromAgent {
    /// The answer to the first message.
    Hello {
        /// [`crate::protocol::PROTOCOL`].
        protocol: u32,
        version: String,
    },
    Host(Box<HostDescription>),
    Route(Route),
    /// The addresses of an interface, without link-local ones.
    AddressesOf {
        /// In the kernel's order.
        addresses: Vec<IpAddr>,
    },
    /// The answer to a keep-alive message.
    Alive,
    Clock {
        now_ns: u64,
    },
    /// The state of the host while bitcost made no traffic.
    Idle(Box<IdleBaseline>),
    Constants(Box<HostConstants>),
    /// The CPUs of the host can be sampled.
    Profilable,
    /// The addresses on which the endpoint listens.
    Listening {
        addresses: Addresses,
        /// What started its processes; absent where that cannot be read.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        origin: Option<Origin>,
    },
    /// The endpoints are connected; this one can start.
    Ready,
    Progress(Box<Sample>),
    /// This endpoint sends nothing more.
    Sent {
        sent: SentCounts,
        /// The time without data that ended its traffic, in ms; absent where nothing or something else did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stalled_ms: Option<u64>,
    },
    /// The run is over at this endpoint, or the time for which connections are read.
    Done(Box<EndpointRecord>),
    /// The run was ended by [`ToAgent::Stop`].
    Stopped,
    /// The request could not be carried out; the agent is ready for the next run.
    Failed {
        /// What was asked, what happened, what to do.
        reason: String,
        cause: FailureCause,
    },
}

/// The kinds of failures that the other side distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureCause {
    /// The host lacks something that was requested: a module of the kernel, a right.
    HostLacks,
    /// A connection did not arrive.
    Unreached,
    /// The run moved more than the service allows.
    MaxRate,
    /// The run lasted longer than the service allows.
    MaxDuration,
    Other,
}
