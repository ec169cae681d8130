//! Names of features and kernel parameters that are known without a host.

use bitcost_model::near::{did_you_mean, near};

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

/// Parameters that are often set for a measurement, as far as a run may set them.
const PARAMETERS: [&str; 29] = [
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
];

/// Refuses a name that no kernel has. A name with a `-` may be a feature of the host's kernel, which
/// only the host knows.
pub(super) fn check_feature(name: &str) -> Result<(), String> {
    let known = || FEATURE_GROUPS.into_iter().chain(PLAIN_FEATURES);
    if name.contains('-') || known().any(|one| one == name) {
        return Ok(());
    }
    Err(format!(
        "`{name}` is not a feature of an interface{}",
        did_you_mean(name, known())
    ))
}

/// `; did you mean …?` for a name that is not under `net.`: parameters whose last part is alike.
pub(super) fn parameters_like(name: &str) -> String {
    if name.starts_with("net.") {
        return String::new();
    }
    let alike = near(last_part(name), PARAMETERS.into_iter().map(last_part));
    let names: Vec<String> = alike
        .into_iter()
        .filter_map(|part| PARAMETERS.into_iter().find(|name| last_part(name) == part))
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
