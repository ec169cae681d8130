//! The requests of a run to its hosts beyond the traffic: values of device, kernel and CPU
//! settings. The settings that code asks for have their name here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::Role;

/// Stateless offloads of the interface.
pub const OFFLOADS: &str = "offloads";
/// MTU of the interface.
pub const MTU: &str = "mtu_bytes";
/// Most segments of a packet that TCP hands to the interface.
pub const GSO_MAX_SEGS: &str = "gso_max_segs";
/// Queueing discipline at the interface's root.
pub const QDISC: &str = "qdisc";
/// Kernel parameters below `net.`.
pub const SYSCTL: &str = "sysctl";
/// Threads that keep CPUs busy.
pub const STRESS: &str = "stress";

/// Most threads of one request for [`STRESS`].
pub const WORKERS_MAX: u32 = 1024;

/// The request of a run for one setting of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingRequest {
    /// The host that is asked, by what it is called, whichever way the data flows; absent: both.
    #[serde(default, alias = "end")]
    pub endpoint: Option<Role>,
    /// The setting.
    #[serde(alias = "knob")]
    pub setting: String,
    /// The subject of the setting, such as a sysctl's name; absent: the interface towards the peer,
    /// or every CPU.
    #[serde(default)]
    pub subject: Option<String>,
    /// The requested values, by name with the unit last.
    pub values: BTreeMap<String, String>,
}

impl SettingRequest {
    /// Whether the request applies to the host called `host`.
    pub fn is_of(&self, host: Role) -> bool {
        self.endpoint.is_none_or(|endpoint| endpoint == host)
    }
}
