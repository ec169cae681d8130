//! The description of a host: the facts that must be equal for two executions to be comparable.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::harmless;

/// The sysctls that affect measurements, by dotted name (kernel doc: admin-guide/sysctl,
/// networking/ip-sysctl).
pub const SYSCTLS: &[&str] = &[
    "kernel.numa_balancing",
    "kernel.sched_autogroup_enabled",
    "kernel.sched_rt_runtime_us",
    "kernel.timer_migration",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.gro_normal_batch",
    "net.core.high_order_alloc_disable",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.netdev_tstamp_prequeue",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.skb_defer_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "vm.zone_reclaim_mode",
];

/// A network interface at the time of its description.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeviceDescription {
    pub name: String,
    /// The driver, as the kernel names it; absent where the device does not report one.
    pub driver: Option<String>,
    /// The version of its firmware, as the driver reports it; absent where it reports none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    pub mtu_bytes: u32,
    /// Every feature bit by kernel name: active or not.
    pub features: BTreeMap<String, bool>,
    /// Queueing disciplines, root first.
    pub qdiscs: Vec<String>,
    /// True where received packets are handled in a kernel thread of the device; absent where this
    /// is unknown.
    pub napi_threaded: Option<bool>,
    /// Where a lab has its receive work done, in words; absent on real hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receives: Option<String>,
}

/// A host as its agent sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostDescription {
    /// Kernel release and version.
    pub kernel: String,
    /// The kernel's command line (`/proc/cmdline`); absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel_command_line: Option<String>,
    /// How the kernel mitigates each vulnerability of the CPUs, by name (kernel doc:
    /// ABI/testing/sysfs-devices-system-cpu); empty where it does not report it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mitigations: BTreeMap<String, String>,
    /// Machine architecture.
    pub architecture: String,
    pub host_name: String,
    /// The kernel's present boot (`/proc/sys/kernel/random/boot_id`), which namespaces of one
    /// machine share; absent where it is not reported.
    #[serde(default)]
    pub boot_id: Option<String>,
    /// CPU model as the kernel names it; absent where it does not.
    pub cpu_model: Option<String>,
    /// Online CPUs by number.
    pub cpus: Vec<u32>,
    /// CPU frequency governor; absent where there is none.
    pub governor: Option<String>,
    /// Memory in KiB.
    pub memory_kib: Option<u64>,
    /// The interface that faces the peer.
    pub device: DeviceDescription,
    /// Sysctls that change the measurement, by dotted name; a sysctl that does not exist is absent.
    pub sysctls: BTreeMap<String, String>,
    /// True where the agent acts as root, in a user namespace or outside.
    pub is_root: bool,
    /// Version of bitcost that runs there.
    pub bitcost_version: String,
}

/// What differs between hosts with different kernels, and with different programs.
pub const KERNEL: &str = "kernel";
/// See [`KERNEL`].
pub const BITCOST_VERSION: &str = "bitcost version";

impl HostDescription {
    /// Whether both hosts are certainly different machines, which their boot ids show.
    pub fn is_apart_from(&self, other: &HostDescription) -> bool {
        self.boot_id.is_some() && other.boot_id.is_some() && self.boot_id != other.boot_id
    }

    /// The differences from another description: what differs, and a sentence that names the other's
    /// value first.
    pub fn differences(&self, other: &HostDescription) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        let mut compare = |what: &'static str, before: String, now: String| {
            if before != now {
                let (before, now) = (harmless(&before), harmless(&now));
                found.push((what, format!("{what}: was {before}, is {now}")));
            }
        };
        let list = |numbers: &[u32]| format!("{numbers:?}");
        let maybe = |text: &Option<String>| text.clone().unwrap_or_else(|| "absent".into());
        compare(KERNEL, other.kernel.clone(), self.kernel.clone());
        // Older logs have neither command lines nor mitigations.
        let lines = [other, self].map(|host| host.kernel_command_line.clone());
        if let [Some(was), Some(is)] = lines {
            compare("kernel command line", was, is);
        }
        compare(
            "architecture",
            other.architecture.clone(),
            self.architecture.clone(),
        );
        compare("CPU model", maybe(&other.cpu_model), maybe(&self.cpu_model));
        compare("CPUs", list(&other.cpus), list(&self.cpus));
        compare("governor", maybe(&other.governor), maybe(&self.governor));
        compare(
            BITCOST_VERSION,
            other.bitcost_version.clone(),
            self.bitcost_version.clone(),
        );
        let (was, is) = (&other.device, &self.device);
        compare("interface", was.name.clone(), is.name.clone());
        compare("driver", maybe(&was.driver), maybe(&is.driver));
        if let (Some(was), Some(is)) = (&was.firmware, &is.firmware) {
            compare("firmware", was.clone(), is.clone());
        }
        compare("MTU", was.mtu_bytes.to_string(), is.mtu_bytes.to_string());
        compare("qdiscs", was.qdiscs.join(" "), is.qdiscs.join(" "));
        let switch = |on: Option<bool>| {
            on.map_or("absent", |on| if on { "on" } else { "off" })
                .to_owned()
        };
        compare(
            "threaded NAPI",
            switch(was.napi_threaded),
            switch(is.napi_threaded),
        );
        compare("receive work", maybe(&was.receives), maybe(&is.receives));
        compare_maps("feature", &was.features, &is.features, &mut found);
        compare_maps("sysctl", &other.sysctls, &self.sysctls, &mut found);
        let (was, is) = (&other.mitigations, &self.mitigations);
        if !was.is_empty() && !is.is_empty() {
            compare_maps("mitigation", was, is, &mut found);
        }
        found
    }
}

fn compare_maps<T: PartialEq + std::fmt::Display>(
    what: &'static str,
    before: &BTreeMap<String, T>,
    now: &BTreeMap<String, T>,
    found: &mut Vec<(&'static str, String)>,
) {
    let show =
        |value: Option<&T>| value.map_or("absent".to_owned(), |value| harmless(&value.to_string()));
    let mut names: Vec<&String> = before.keys().chain(now.keys()).collect();
    names.sort();
    names.dedup();
    // Older logs have a feature without a name: a bit that their kernel did not name.
    for name in names.into_iter().filter(|name| !name.is_empty()) {
        if before.get(name) != now.get(name) {
            let (was, is) = (show(before.get(name)), show(now.get(name)));
            let name = harmless(name);
            found.push((what, format!("{what} {name}: was {was}, is {is}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_apart_only_when_both_say_so() {
        let of = |boot: Option<&str>| HostDescription {
            boot_id: boot.map(str::to_owned),
            ..HostDescription::default()
        };
        assert!(of(Some("a")).is_apart_from(&of(Some("b"))));
        assert!(!of(Some("a")).is_apart_from(&of(Some("a"))));
        assert!(!of(Some("a")).is_apart_from(&of(None)));
    }

    #[test]
    fn a_changed_sysctl_and_kernel_are_named() {
        let mut before = HostDescription {
            kernel: "6.12".into(),
            ..HostDescription::default()
        };
        before
            .sysctls
            .insert("net.core.rmem_max".into(), "212992".into());
        let now = HostDescription {
            kernel: "6.18".into(),
            ..HostDescription::default()
        };
        assert_eq!(
            now.differences(&before),
            [
                (KERNEL, "kernel: was 6.12, is 6.18".to_owned()),
                (
                    "sysctl",
                    "sysctl net.core.rmem_max: was 212992, is absent".to_owned()
                )
            ]
        );
        assert!(before.differences(&before).is_empty());
    }

    #[test]
    fn what_an_older_log_does_not_have_is_no_difference() {
        let host = |line: &str, mitigation: &str| HostDescription {
            kernel_command_line: Some(line.into()),
            mitigations: [("retbleed".to_owned(), mitigation.to_owned())].into(),
            device: DeviceDescription {
                firmware: Some(line.into()),
                ..DeviceDescription::default()
            },
            ..HostDescription::default()
        };
        let (was, is) = (host("quiet", "Not affected"), host("nosmt", "Vulnerable"));
        let sentences = is.differences(&was).into_iter().map(|(_, words)| words);
        assert_eq!(
            sentences.collect::<Vec<_>>(),
            [
                "kernel command line: was quiet, is nosmt",
                "firmware: was quiet, is nosmt",
                "mitigation retbleed: was Not affected, is Vulnerable"
            ]
        );
        assert_eq!(is.differences(&HostDescription::default()), []);
    }

    #[test]
    fn a_feature_without_a_name_is_no_difference() {
        let mut before = HostDescription::default();
        before.device.features.insert(String::new(), false);
        assert!(HostDescription::default().differences(&before).is_empty());
    }
}
