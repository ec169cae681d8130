//! Names of features and kernel parameters that are known without a host.

use crate::Invalid;
use crate::machine::SYSCTLS;
use crate::near::{did_you_mean, near};
use crate::shared_sysctls;

/// ethtool's groups of features (ethtool(8), `-K`): short name, long name, and the kernel's names of the
/// features, where `*` stands for anything.
pub const FEATURE_GROUPS: [(&str, &str, &str); 12] = [
    ("rx", "rx-checksumming", "rx-checksum"),
    ("tx", "tx-checksumming", "tx-checksum-*"),
    ("sg", "scatter-gather", "tx-scatter-gather*"),
    ("tso", "tcp-segmentation-offload", "tx-tcp*-segmentation"),
    ("ufo", "udp-fragmentation-offload", "tx-udp-fragmentation"),
    (
        "gso",
        "generic-segmentation-offload",
        "tx-generic-segmentation",
    ),
    ("gro", "generic-receive-offload", "rx-gro"),
    ("lro", "large-receive-offload", "rx-lro"),
    ("rxvlan", "rx-vlan-offload", "rx-vlan-hw-parse"),
    ("txvlan", "tx-vlan-offload", "tx-vlan-hw-insert"),
    ("ntuple", "ntuple-filters", "rx-ntuple-filter"),
    ("rxhash", "receive-hashing", "rx-hashing"),
];

/// The kernel's features whose names have no `-` (net/ethtool/common.c, `netdev_features_strings`).
const PLAIN_FEATURES: [&str; 2] = ["highdma", "loopback"];

/// Parameters that a run may set, of those that affect measurements.
fn parameters() -> impl Iterator<Item = &'static str> {
    let others = ["net.ipv4.tcp_mem", "net.ipv4.udp_mem"];
    let is_writable = |name: &&str| *name != "net.ipv4.tcp_available_congestion_control";
    let all = SYSCTLS.iter().copied().filter(is_writable).chain(others);
    all.filter(|name| name.starts_with("net.") && shared_sysctls::refusal(name).is_none())
}

/// Refuses a name that no kernel has. A name with a `-` may be a feature of the host's kernel, which
/// only the host knows.
pub fn check_feature(name: &str) -> Result<(), Invalid> {
    let groups = FEATURE_GROUPS.map(|(short, long, _)| [short, long]);
    let known = || groups.into_iter().flatten().chain(PLAIN_FEATURES);
    if name.contains('-') || known().any(|one| one == name) {
        return Ok(());
    }
    Err(Invalid(format!(
        "`{name}` is not a feature of an interface{}",
        did_you_mean(name, known())
    )))
}

/// `; did you mean …?` for a name that is not under `net.`: parameters whose last part is alike.
pub fn parameters_like(name: &str) -> String {
    if name.starts_with("net.") {
        return String::new();
    }
    let alike = near(last_part(name), parameters().map(last_part));
    let names: Vec<String> = alike
        .into_iter()
        .filter_map(|part| parameters().find(|name| last_part(name) == part))
        .map(|name| format!("`{name}`"))
        .collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", names.join(" or ")),
    }
}

/// `tcp_rmem` of `net.ipv4.tcp_rmem`.
fn last_part(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}
