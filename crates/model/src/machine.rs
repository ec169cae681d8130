//! The description of a host: the facts that must be equal for two executions to be comparable.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::cpu_list::show_cpu_list;
use crate::{Invalid, harmless};

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
    "net.ipv4.ipfrag_high_thresh",
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

/// The CPUs of a machine, in order. A list that the kernel does not report is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CpuSets {
    pub online: Vec<u32>,
    /// Those that the machine has and does not use.
    pub offline: Vec<u32>,
    /// Those to which the scheduler moves no thread: one must be pinned there.
    pub isolated: Vec<u32>,
    /// Those of each NUMA node.
    pub nodes: BTreeMap<u32, Vec<u32>>,
    /// Those to which the scheduler may move this process.
    pub allowed: Vec<u32>,
}

impl CpuSets {
    /// Checks that this process may pin threads to these CPUs.
    ///
    /// # Errors
    /// The first to which it may not, why, and which there are.
    pub fn check(&self, cpus: &[u32]) -> Result<(), Invalid> {
        let is_usable = |cpu: &u32| self.allowed.contains(cpu) || self.isolated.contains(cpu);
        let Some(cpu) = cpus.iter().find(|cpu| !is_usable(cpu)) else {
            return Ok(());
        };
        let (why, others) = match () {
            () if self.offline.contains(cpu) => ("is offline; online", &self.online),
            () if self.online.contains(cpu) => (
                "may not be used by this process, because of taskset or the cpuset of its control group; allowed",
                &self.allowed,
            ),
            () => ("does not exist here; online", &self.online),
        };
        let others = show_cpu_list(others);
        Err(Invalid(format!("CPU {cpu} {why}: {others}")))
    }

    /// The node of a CPU; absent where there is only one.
    pub fn node_of(&self, cpu: u32) -> Option<u32> {
        let mut nodes = self.nodes.iter().filter(|_| self.nodes.len() > 1);
        nodes
            .find(|(_, cpus)| cpus.contains(&cpu))
            .map(|(node, _)| *node)
    }
}

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
    pub architecture: String,
    pub host_name: String,
    /// The kernel's present boot (`/proc/sys/kernel/random/boot_id`), which namespaces of one
    /// machine share; absent where it is not reported.
    pub boot_id: Option<String>,
    /// CPU model as the kernel names it; absent where it does not.
    pub cpu_model: Option<String>,
    /// Online CPUs by number.
    pub cpus: Vec<u32>,
    /// Those to which the scheduler moves no thread (`isolcpus`, isolated partitions of control groups).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub isolated_cpus: Vec<u32>,
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
    pub bitcost_version: String,
}

impl HostDescription {
    /// Whether both hosts are certainly different machines, which their boot ids show.
    pub fn is_apart_from(&self, other: &HostDescription) -> bool {
        self.boot_id.is_some() && other.boot_id.is_some() && self.boot_id != other.boot_id
    }

    /// The facts that can be a reason for other figures, each by name in words, in order: first those of every host, then
    /// features, sysctls and mitigations. A fact that is not known is absent.
    pub fn facts(&self) -> Vec<(String, String)> {
        let switch = |on: bool| if on { "on" } else { "off" }.to_owned();
        let cpus = self.cpus.len() as u32;
        let device = &self.device;
        let own = [
            ("kernel", Some(self.kernel.clone())),
            ("kernel command line", self.kernel_command_line.clone()),
            ("architecture", Some(self.architecture.clone())),
            ("CPU model", self.cpu_model.clone()),
            (
                "CPUs",
                Some(match self.cpus.iter().copied().eq(0..cpus) {
                    true => cpus.to_string(),
                    false => format!("{cpus} ({})", show_cpu_list(&self.cpus)),
                }),
            ),
            (
                "isolated CPUs",
                Some(show_cpu_list(&self.isolated_cpus)).filter(|list| !list.is_empty()),
            ),
            ("governor", self.governor.clone()),
            ("bitcost version", Some(self.bitcost_version.clone())),
            ("root", Some(if self.is_root { "yes" } else { "no" }.into())),
            ("interface", Some(device.name.clone())),
            ("driver", device.driver.clone()),
            ("firmware", device.firmware.clone()),
            ("MTU", Some(device.mtu_bytes.to_string())),
            ("qdiscs", Some(device.qdiscs.join(" "))),
            ("threaded NAPI", device.napi_threaded.map(switch)),
            ("receive work", device.receives.clone()),
        ];
        let own = own.into_iter();
        let own = own.filter_map(|(name, value)| Some((name.to_owned(), harmless(&value?))));
        let features = device.features.iter().filter(|(name, _)| !name.is_empty());
        let features = features.map(|(name, on)| ("feature", name, switch(*on)));
        let words = |kind: &'static str, map: &BTreeMap<String, String>| {
            let all = map.clone().into_iter();
            all.map(move |(name, value)| named(kind, &name, &value))
        };
        own.chain(features.map(|(kind, name, value)| named(kind, name, &value)))
            .chain(words("sysctl", &self.sysctls))
            .chain(words("mitigation", &self.mitigations))
            .collect()
    }

    /// The differences from another description, a sentence each, which names the other's value first.
    pub fn differences(&self, other: &HostDescription) -> Vec<String> {
        let (was, is) = (other.facts(), self.facts());
        let value = |facts: &[(String, String)], name: &String| {
            let found = facts.iter().find(|(known, _)| known == name);
            found.map_or("absent".to_owned(), |(_, value)| value.clone())
        };
        let mut names: Vec<&String> = is.iter().map(|(name, _)| name).collect();
        for (name, _) in &was {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let sentence = |name: &String| {
            let (was, is) = (value(&was, name), value(&is, name));
            (was != is).then(|| format!("{name}: was {was}, is {is}"))
        };
        names.into_iter().filter_map(sentence).collect()
    }
}

fn named(kind: &str, name: &str, value: &str) -> (String, String) {
    (format!("{kind} {}", harmless(name)), harmless(value))
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
                "kernel: was 6.12, is 6.18",
                "sysctl net.core.rmem_max: was 212992, is absent"
            ]
        );
        assert!(before.differences(&before).is_empty());
    }

    #[test]
    fn a_feature_without_a_name_is_no_difference() {
        let mut before = HostDescription::default();
        before.device.features.insert(String::new(), false);
        assert!(HostDescription::default().differences(&before).is_empty());
    }
}
