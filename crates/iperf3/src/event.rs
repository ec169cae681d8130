//! What a server tells about its clients.

use std::net::SocketAddr;

use crate::params::Params;
use crate::refusal::Refusal;
use crate::results::StreamResult;

/// What happened to one client.
#[derive(Clone, Debug)]
pub enum Event {
    /// A test took place, in full or in part.
    Test(Box<Test>),
    /// A client was not served.
    Refused {
        /// Its address.
        peer: SocketAddr,
        /// What it asked and the rule that forbids it.
        refusal: Refusal,
    },
    /// A connection ended before a test began.
    Failed {
        /// Its address.
        peer: SocketAddr,
        /// What happened.
        reason: String,
    },
}

/// A test as the server saw it.
#[derive(Clone, Debug)]
pub struct Test {
    /// The client's address.
    pub peer: SocketAddr,
    /// What it asked.
    pub params: Params,
    /// Seconds from the start of the data to their end, without the omitted time.
    pub seconds: f64,
    /// The server's view of each stream.
    pub streams: Vec<Stream>,
    /// CPU time of the threads of this test in percent of one CPU: in all, user, kernel.
    pub cpu_pct: [f64; 3],
    /// Why it ended before the client ended it; absent where it did not.
    pub ended: Option<String>,
}

/// A stream as the server saw it.
#[derive(Clone, Debug)]
pub struct Stream {
    /// True: the server received.
    pub receives: bool,
    /// Its figures.
    pub result: StreamResult,
    /// The congestion control in effect; absent for UDP.
    pub congestion: Option<String>,
}
