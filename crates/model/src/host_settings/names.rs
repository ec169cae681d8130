//! Names of features and kernel parameters that are known without a host.

use crate::Invalid;
use crate::machine::SYSCTLS;
use crate::near::{did_you_mean, near};
use crate::shared_sysctls;

/// ethtool's short and long names of groups of features (ethtool(8), `-K`).
const FEATURE_GROUPS: [&str; 24] = [
    "rx",
    "tx",
    "sg",
    "tso",
    "ufo",
    "gso",
    "gro",
    "lro",
    "rxvlan",
    "txvlan",
    "ntuple",
    "rxhash",
    "rx-checksumming",
    "tx-checksumming",
    "scatter-gather",
    "tcp-segmentation-offload",
    "udp-fragmentation-offload",
    "generic-segmentation-offload",
    "generic-receive-offload",
    "large-receive-offload",
    "rx-vlan-offload",
    "tx-vlan-offload",
    "ntuple-filters",
    "receive-hashing",
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
    let known = || FEATURE_GROUPS.into_iter().chain(PLAIN_FEATURES);
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
