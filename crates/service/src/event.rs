//! What a service tells its user.

use std::net::SocketAddr;
use std::time::Duration;

use crate::monitor::counts::Tested;

use crate::fingerprint::Fingerprint;
use crate::rules::Refused;

/// Something that happened.
#[derive(Clone, Debug)]
pub enum Event {
    /// A client was enrolled.
    Enrolled {
        /// Its address.
        peer: SocketAddr,
        /// Its name.
        name: String,
        /// Its key.
        key: Fingerprint,
    },
    /// A client has the host.
    Began {
        /// Its address.
        peer: SocketAddr,
        /// Its name.
        name: String,
    },
    /// A run of it is over.
    Ran {
        /// The name of its key.
        name: String,
        /// The key.
        key: Fingerprint,
        /// What it came to.
        figures: Tested,
    },
    /// It no longer has it.
    Ended {
        /// Its address.
        peer: SocketAddr,
        /// Its name.
        name: String,
        /// Runs that it started.
        runs: u32,
        /// How long it had the host.
        time: Duration,
        /// Why it ended, if not by the client.
        why: Option<String>,
    },
    /// Something was refused.
    Refused {
        /// The address of the client.
        peer: SocketAddr,
        /// The name of its key, if that is served.
        name: Option<String>,
        /// The rule and the value.
        why: Refused,
    },
    /// A connection ended before it proved a key.
    Failed {
        /// The address.
        peer: SocketAddr,
        /// Why.
        reason: String,
    },
}
