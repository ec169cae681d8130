//! What a service holds the agent of one of its clients to, whatever the client says.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

/// What the service allows, the same for everybody who has its link.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Settings of the host that tests may change; none by default.
    pub settings: Vec<String>,
    /// Interfaces that tests may name; empty: that of the route to the client alone.
    pub interfaces: Vec<String>,
    /// Highest rate of a test over all of its flows and directions, in bit/s; tests must then name
    /// one. Absent: not limited.
    pub max_rate_bps: Option<u64>,
    /// Longest run with its warm-up, in seconds.
    pub max_duration_s: u32,
    pub max_flows: u32,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules {
            settings: Vec::new(),
            interfaces: Vec::new(),
            max_rate_bps: None,
            max_duration_s: 600,
            max_flows: 128,
        }
    }
}

/// The rules for one client. The service starts its agent with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    pub rules: Rules,
    /// The address from which the client showed the link: the only one that sockets of data accept and answer. They connect to
    /// none.
    pub peer: IpAddr,
    /// The address of this host that the client reached, with the link of an address of one.
    pub local: SocketAddr,
    /// Where the service listens; data come to the same port.
    pub listening: SocketAddr,
    /// The interface of the route to the client.
    pub device: String,
}
