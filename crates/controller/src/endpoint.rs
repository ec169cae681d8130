//! The places of the two agents: how each is started, and the facts about its host that a run
//! needs.

use std::io::{BufRead, Write};
use std::net::{IpAddr, SocketAddr};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bitcost_model::Unavailable;
use bitcost_model::protocol::{Peer, Receiving};

use crate::error::AgentEnd;

/// The host of one agent, and how the agent is started there.
pub struct Endpoint {
    /// Its name for people, such as `netns:h1`.
    pub place: String,
    /// Makes the command that starts the agent and carries its standard input and output.
    pub command: Box<Start>,
    pub device: String,
    /// The addresses of that interface; the first one is used where a run asks for none.
    pub addresses: Vec<IpAddr>,
    pub cpus: Vec<u32>,
    /// How its interface receives, if it is one of a lab.
    pub receiving: Option<Receiving>,
    /// Describes how the command ended; absent: only its exit status is reported, and it shares
    /// this program's standard error.
    pub explain: Option<Explain>,
    /// Whether the command shares this program's standard error although `explain` is there, because
    /// it tells the user something while it runs.
    pub tells_user: bool,
    /// Turns the command into an agent; absent: the command starts as an agent.
    pub bootstrap: Option<Bootstrap>,
    /// The time for which a lost agent is restarted repeatedly; zero: one attempt.
    pub patience: Duration,
    /// The time that the agent may take in all to start and greet.
    pub greeting: Duration,
    pub peer: Peer,
    /// Where its service listens, as the other endpoint reaches it: that one opens all flows, in both directions of the data.
    pub service: Option<SocketAddr>,
}

/// The usual time that an agent may take in all to start and greet, including the copy of its
/// program over a slow connection.
const START: Duration = Duration::from_secs(600);

impl Endpoint {
    /// An endpoint whose agent is started by a command alone.
    pub fn new(
        place: String,
        command: impl FnMut() -> Result<Command, Unavailable> + 'static,
    ) -> Endpoint {
        Endpoint {
            place,
            command: Box::new(command),
            device: String::new(),
            addresses: Vec::new(),
            cpus: Vec::new(),
            receiving: None,
            explain: None,
            tells_user: false,
            bootstrap: None,
            patience: Duration::ZERO,
            greeting: START,
            peer: Peer::Bitcost,
            service: None,
        }
    }
}

pub type Start = dyn FnMut() -> Result<Command, Unavailable>;

/// Describes how a command ended, from its exit code (absent after a signal) and the end of its
/// standard error.
pub type Explain = Arc<dyn Fn(Option<i32>, &str) -> String + Send + Sync>;

/// Turns a command, such as a shell on another host, into an agent, by a handshake over its input and output; calls the
/// function whenever the other side has answered. [`AgentEnd::OutputEnded`] is replaced by how the command ended.
pub type Bootstrap = Arc<
    dyn Fn(&mut dyn Write, &mut dyn BufRead, &mut dyn FnMut()) -> Result<(), AgentEnd>
        + Send
        + Sync,
>;

/// The hosts of the sender and of the receiver.
pub type Endpoints = [Endpoint; 2];
