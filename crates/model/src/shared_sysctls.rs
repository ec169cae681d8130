//! Kernel parameters that a run may not set, because a write to one of them changes other values
//! that are not restored with it (Linux: Documentation/networking/ip-sysctl.rst,
//! net/ipv4/devinet.c, net/ipv6/addrconf.c).

/// A pattern of names, in which `*` is one part of the name or, at its end, one or more, and the
/// effect of a write to them.
type Row = (&'static str, &'static str);

/// Every pattern. The first one that matches gives the reason.
const REFUSED: &[Row] = &[
    ("net.ipv4.ip_forward", FORWARDING),
    ("net.*.conf.*.forwarding", FORWARDING),
    (
        "net.*.conf.*.mc_forwarding",
        "a multicast routing daemon sets it, together with the routes that it needs",
    ),
    (
        "net.ipv6.conf.*.force_forwarding",
        "on `all` and `default` it changes `force_forwarding` of every interface",
    ),
    (
        "net.ipv6.conf.*.disable_ipv6",
        "it removes the interface's IPv6 addresses and routes, which do not come back with the old value",
    ),
    (
        "net.ipv6.conf.*.stable_secret",
        "it changes `addr_gen_mode`, too, and cannot be emptied again",
    ),
    (
        "net.ipv6.conf.*.addr_gen_mode",
        "it makes the kernel generate new IPv6 addresses",
    ),
    (
        "net.ipv6.conf.all.*",
        "it changes the same parameter of every interface",
    ),
    (
        "net.ipv6.conf.default.*",
        "it changes the settings of interfaces that are made during the run, and for some parameters also of others",
    ),
    (
        "net.ipv4.conf.default.*",
        "it changes the same parameter of every interface that was never given its own value",
    ),
    ("net.*.neigh.default.gc_thresh1", ALLOWED),
    ("net.*.neigh.default.gc_thresh2", ALLOWED),
    ("net.*.neigh.default.gc_thresh3", ALLOWED),
    ("net.*.neigh.default.gc_interval", ALLOWED),
    (
        "net.*.neigh.default.*",
        "it changes the same parameter of every interface that was never given its own value",
    ),
    (
        "net.*.neigh.*.unres_qlen",
        "it changes `unres_qlen_bytes`; set that one",
    ),
    (
        "net.*.neigh.*.retrans_time",
        "it rounds `retrans_time_ms` down to whole units; set that one",
    ),
    (
        "net.*.neigh.*.base_reachable_time",
        "it rounds `base_reachable_time_ms` down to whole seconds; set that one",
    ),
    (
        "net.ipv6.route.gc_min_interval",
        "it rounds `gc_min_interval_ms` down to whole seconds; set that one",
    ),
    (
        "net.ipv4.tcp_allowed_congestion_control",
        "it is one list for all programs of the machine",
    ),
    ("net.mptcp.path_manager", "it changes `net.mptcp.pm_type`"),
    ("net.mptcp.pm_type", "it changes `net.mptcp.path_manager`"),
    (
        "net.mpls.platform_labels",
        "a smaller value removes MPLS routes, which do not come back",
    ),
    ("net.ipv4.route.flush", FLUSH),
    ("net.ipv6.route.flush", FLUSH),
];

const FORWARDING: &str = "it changes `forwarding` and `accept_redirects` of other interfaces, routes learnt from router advertisements, or the interface's LRO, which do not come back with the old value";
const FLUSH: &str = "it drops cached routes, which do not come back";
/// The reason of a pattern that matches and is allowed.
const ALLOWED: &str = "";

/// The reason why a run may not set the kernel parameter of this dotted name, and what to do;
/// `None` where it may.
pub fn refusal(name: &str) -> Option<String> {
    let (_, reason) = REFUSED
        .iter()
        .find(|(pattern, _)| fits(pattern, name))
        .filter(|(_, why)| *why != ALLOWED)?;
    Some(format!(
        "the sysctl {name} is not set by a run: {reason}; set it yourself before the run (sysctl -w {name}=VALUE), and leave it out"
    ))
}

/// Whether a name matches a pattern. An interface's name may contain dots, so `*` is one part or
/// more.
fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|after| {
            let mut ends = (1..=after.len()).filter(|at| after.is_char_boundary(*at));
            ends.any(|at| fits(rest, &after[at..]))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_other_things_is_refused_with_its_reason() {
        for (name, reason) in [
            ("net.ipv4.ip_forward", "other interfaces"),
            ("net.ipv4.conf.all.forwarding", "other interfaces"),
            ("net.ipv4.conf.c0.forwarding", "other interfaces"),
            ("net.ipv6.conf.all.forwarding", "other interfaces"),
            ("net.ipv6.conf.eth0.100.forwarding", "other interfaces"),
            ("net.ipv4.conf.c0.mc_forwarding", "multicast routing daemon"),
            ("net.ipv6.conf.c0.disable_ipv6", "addresses and routes"),
            ("net.ipv6.conf.all.disable_ipv6", "addresses and routes"),
            ("net.ipv6.conf.all.hop_limit", "every interface"),
            ("net.ipv6.conf.default.mtu", "made during the run"),
            ("net.ipv6.conf.c0.stable_secret", "addr_gen_mode"),
            ("net.ipv6.conf.c0.addr_gen_mode", "new IPv6 addresses"),
            (
                "net.ipv4.conf.default.rp_filter",
                "never given its own value",
            ),
            (
                "net.ipv4.neigh.default.delay_first_probe_time",
                "never given its own value",
            ),
            ("net.ipv6.neigh.c0.retrans_time", "retrans_time_ms"),
            ("net.ipv4.tcp_allowed_congestion_control", "all programs"),
        ] {
            let said = refusal(name).unwrap_or_else(|| panic!("{name} is allowed"));
            assert!(
                said.contains(reason) && said.contains("before the run"),
                "{name}: {said}"
            );
        }
    }

    #[test]
    fn what_changes_itself_alone_is_allowed() {
        for name in [
            "net.ipv4.tcp_rmem",
            "net.ipv4.tcp_congestion_control",
            "net.ipv4.conf.all.rp_filter",
            "net.ipv4.conf.c0.accept_redirects",
            "net.ipv6.conf.c0.mtu",
            "net.ipv6.conf.c0.hop_limit",
            "net.ipv4.neigh.default.gc_thresh3",
            "net.ipv4.neigh.c0.retrans_time_ms",
            "net.core.rmem_max",
            "net.ipv4.ip_forward_use_pmtu",
        ] {
            assert_eq!(refusal(name), None);
        }
    }
}
