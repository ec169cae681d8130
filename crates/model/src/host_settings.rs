//! The requests of a run to its hosts beyond the traffic: values of device, kernel and CPU
//! settings. The settings that code asks for have their name here.

use std::collections::BTreeMap;

use schemars::JsonSchema;
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
/// The governor of a CPU's frequency.
pub const GOVERNOR: &str = "governor";
/// The deepest idle state of CPUs.
pub const IDLE: &str = "idle";
/// Whether kernel threads handle what the interface receives.
pub const THREADED_NAPI: &str = "threaded_napi";
/// CPUs to which the interface's receive queues hand packets.
pub const RPS_CPUS: &str = "rps_cpus";
/// Threads that keep CPUs busy.
pub const STRESS: &str = "stress";

/// Most threads of one request for [`STRESS`].
pub const WORKERS_MAX: u32 = 1024;

words! {
    /// The work of a thread that keeps a CPU busy.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum Flavour {
        /// Arithmetic in registers.
        Cpu = "cpu",
        /// Writing through memory that no cache holds, a cache line at a time.
        Memory = "memory",
        /// System calls: reads of 4 KiB from `/dev/zero`.
        Syscall = "syscall",
    }
}

/// The request of a run for one setting of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingRequest {
    /// The host that is asked, by what it is called, whichever way the data flows; absent: both.
    #[serde(default)]
    pub endpoint: Option<Role>,
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

    /// The interface that the request names: its subject, or that in the name of a kernel parameter
    /// such as `net.ipv4.conf.eth0.rp_filter`; absent where it names none.
    pub fn interface(&self) -> Option<&str> {
        let subject = self.subject.as_deref()?;
        match self.setting.as_str() {
            SYSCTL => interface_of_parameter(subject),
            GOVERNOR | IDLE | STRESS => None,
            _ => Some(subject),
        }
    }
}

/// The interface in the name of a kernel parameter (Linux:
/// Documentation/networking/ip-sysctl.rst). Its own name may contain dots. `default` is none: which
/// of its parameters a run may set is in [`crate::shared_sysctls`].
fn interface_of_parameter(name: &str) -> Option<&str> {
    let mut parts = name.splitn(4, '.').skip(2);
    let group = parts.next()?;
    let (interface, _) = parts.next()?.rsplit_once('.')?;
    (matches!(group, "conf" | "neigh") && interface != "default").then_some(interface)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_of_a_request_is_found_where_it_names_one() {
        for (setting, subject, interface) in [
            (MTU, "eth1", Some("eth1")),
            (OFFLOADS, "eth0.100", Some("eth0.100")),
            (QDISC, "eth1", Some("eth1")),
            (SYSCTL, "net.ipv4.conf.eth1.rp_filter", Some("eth1")),
            (
                SYSCTL,
                "net.ipv6.neigh.eth0.100.gc_stale_time",
                Some("eth0.100"),
            ),
            (SYSCTL, "net.ipv4.conf.all.rp_filter", Some("all")),
            (SYSCTL, "net.ipv4.neigh.default.gc_thresh1", None),
            (SYSCTL, "net.ipv4.tcp_rmem", None),
            (SYSCTL, "net.core.rmem_max", None),
            (GOVERNOR, "0", None),
        ] {
            let request = SettingRequest {
                endpoint: None,
                setting: setting.to_owned(),
                subject: Some(subject.to_owned()),
                values: BTreeMap::new(),
            };
            assert_eq!(request.interface(), interface, "{setting} {subject}");
        }
    }
}
