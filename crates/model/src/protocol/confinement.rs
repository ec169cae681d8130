//! What a service holds the runs of one of its clients to, whatever the client says.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// The limits that an agent enforces on the data of a run. The service that started the agent sets
/// them; a client cannot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// The address from which the client authenticated: the only one that sockets of data accept and answer. They connect to none.
    pub peer: IpAddr,
    /// Where the service listens; data come to the same port.
    pub listening: SocketAddr,
    /// Most user data over all flows and both directions, in bit/s on average; absent: any.
    pub max_rate_bps: Option<u64>,
    /// Longest time from the run's first message to its last, in seconds.
    pub max_duration_s: u32,
}
