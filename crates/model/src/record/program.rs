//! A program that is not bitcost, and its connections.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The program whose connections a record is about. What could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Program {
    /// As the kernel names it (`/proc/PID/comm`); absent where this user may not see who holds the connections.
    pub name: Option<String>,
    pub pid: Option<u32>,
    /// This end's address and port, then the other's, of each connection.
    pub connections: Vec<[String; 2]>,
    /// Connections of the same request that were not read, since others moved more.
    #[serde(default)]
    pub others: usize,
    /// Why they were read for less time than requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// Readings in which as many connections waited to be accepted as may, and all readings; absent where it does not
    /// listen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_full: Option<[u32; 2]>,
    /// Bytes that it wrote, or read where its end receives, and the calls that it took for them (`/proc/PID/io`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<[u64; 2]>,
}
