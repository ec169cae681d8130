//! What a server tells about its clients.

use std::net::SocketAddr;

use crate::params::Params;
use crate::refusal::Refusal;
use crate::results::StreamResult;

#[derive(Clone, Debug)]
pub enum Event {
    Test(Box<Test>),
    Refused { peer: SocketAddr, refusal: Refusal },
    Failed { peer: SocketAddr, reason: String },
}

#[derive(Clone, Debug)]
pub struct Test {
    pub peer: SocketAddr,
    pub params: Params,
    /// Seconds from the start of the data to their end, without the omitted time.
    pub seconds: f64,
    pub streams: Vec<Stream>,
    /// CPU time of the threads of this test in percent of one CPU: in all, user, kernel.
    pub cpu_pct: [f64; 3],
    /// Why it ended before the client ended it; absent where it did not.
    pub ended: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Stream {
    /// True: the server received.
    pub receives: bool,
    pub result: StreamResult,
    /// The congestion control in effect; absent for UDP.
    pub congestion: Option<String>,
}
