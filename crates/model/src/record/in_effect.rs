//! Settings and offloads as they were requested and as they were read back.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the entry of [`InEffect`] for the initial state of TCP connections: the metrics that
/// the kernel remembered of earlier connections to the peer (`ip tcp_metrics`). Its value is absent
/// where the kernel does not report them.
pub const CACHED_METRICS: &str = "tcp_metrics";
/// The value of that entry where nothing was remembered.
pub const NO_CACHED_METRICS: &str = "none";
/// The name of the entry for the MTU of the path: of datagrams, and of a paced sender whose rate counts headers.
pub const PATH_MTU: &str = "path_mtu_bytes";

/// The hop that carries less than the sender's interface does, by its address.
pub const NARROW_HOP: &str = "narrow_hop";

/// The name of the entry of [`InEffect`] for the CPUs to which an interface's kernel threads are
/// confined, so that the endpoint's receive work is done there.
pub const RECEIVE_CPUS: &str = "receive_cpus";

/// The name of the entry for the means by which the time of soft interrupts is known, at the
/// endpoint that was to time them.
pub const SOFTIRQ_TIME: &str = "softirq_time";
/// The value of that entry where they are timed; otherwise it says why ticks are used.
pub const SOFTIRQS_TIMED: &str = "timed";

/// A setting as it was requested and as it was read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InEffect {
    /// Its name, with the unit last.
    pub name: String,
    /// The requested value; absent: nothing was requested, and the host's own value is shown.
    pub requested: Option<String>,
    /// The value that was read back; absent: it cannot be read.
    pub actual: Option<String>,
}

impl InEffect {
    pub fn new(
        name: impl Into<String>,
        requested: Option<impl ToString>,
        actual: Option<impl ToString>,
    ) -> InEffect {
        InEffect {
            name: name.into(),
            requested: requested.map(|value| value.to_string()),
            actual: actual.map(|value| value.to_string()),
        }
    }

    /// What nobody requested.
    pub fn found(name: &str, actual: Option<impl ToString>) -> InEffect {
        InEffect::new(name, None::<String>, actual)
    }

    /// What is in effect as it was requested.
    pub fn as_requested(name: &str, value: impl ToString) -> InEffect {
        InEffect::new(name, Some(value.to_string()), Some(value))
    }
}

/// The offload bits of one endpoint during a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OffloadsInEffect {
    /// Interface that was set.
    pub device: String,
    /// Bits that the run requested, by kernel name.
    pub requested: BTreeMap<String, bool>,
    /// Active bits as read back, of those requested (all `tso gso gro lro` bits when nothing was
    /// requested).
    pub active: BTreeMap<String, bool>,
}
