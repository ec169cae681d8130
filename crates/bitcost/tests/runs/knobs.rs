//! Host settings of a run: recorded as requested and as in effect, restored afterwards, and an
//! error if they have no effect.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: host_settings_recorded_as_requested_and_in_effect, host_setting_not_in_effect_fails_the_run;
}

/// A study whose levels are settings of the hosts.
const STUDY: &str = r#"title = "Settings of the hosts"
question = "Do they take?"
[lab]
mtu_bytes = 3000
[workload]
warmup_s = 0.05
duration_s = 0.2
sysctl = "net.ipv4.tcp_sack=0"
[[factor]]
name = "setting"
levels = [
  { label = "mtu", mtu_bytes = 1400 },
  { label = "qdisc", qdisc = "sender: tbf rate 200M" },
  { label = "limits", gso_max_segs = "sender: 1", gso_max_size = "sender: 20000", gro_max_size = "receiver: 1" },
  { label = "reversed", direction = "reverse", qdisc = "receiver: tbf rate 200M" },
  { label = "tcp", sysctl = "sender: net.ipv4.tcp_autocorking=0, net.ipv4.tcp_limit_output_bytes=65536" },
  { label = "sysctl", sysctl = "receiver: net.ipv4.tcp_rmem=4096 65536 524288" },
  { label = "features", offloads = "tso off, rx-gro on" },
  { label = "stress", stress = "sender: 1 syscall 10%" },
  { label = "as found", offloads = "as-found" },
]
[run]
blocks = 1
"#;

fn host_settings_recorded_as_requested_and_in_effect() {
    let bench = Bench::new();
    bench.write("mine.toml", STUDY);
    bench.bitcost(&["run", "mine.toml"]).assert_code(0);
    let log = bench.log();
    let runs = ended(&log);
    let run_of = |label: &str| {
        let is_it = |run: &&Ended| plan(&log).cells[run.cell].levels[0].1.to_string() == label;
        &runs.iter().find(is_it).unwrap().ends
    };
    let [sender, receiver] = [0, 1];
    for end in [sender, receiver] {
        // Of every level.
        let sack = in_effect(&run_of("mtu")[end], "sysctl.net.ipv4.tcp_sack");
        assert_eq!(sack.unwrap(), ["0"; 2]);
        let features = &run_of("features")[end].offloads;
        assert!(features.active["rx-gro"] && !features.active["tx-tcp-segmentation"]);
        assert_eq!(features.requested, features.active);
    }
    let rmem = "sysctl.net.ipv4.tcp_rmem";
    // The label, the end, the setting, and the value that is requested and in effect, if any.
    for (label, end, name, value) in [
        ("mtu", sender, "mtu_bytes", Some("1400")),
        ("mtu", receiver, "mtu_bytes", Some("1400")),
        ("as found", sender, "mtu_bytes", None),
        ("as found", receiver, "mtu_bytes", None),
        ("qdisc", sender, "qdisc.rate_bps", Some("200000000")),
        ("qdisc", receiver, "qdisc.kind", None),
        // The host called receiver sends.
        ("reversed", sender, "qdisc.rate_bps", Some("200000000")),
        ("reversed", receiver, "qdisc.kind", None),
        ("limits", sender, "gso_max_segs", Some("1")),
        ("limits", sender, "gso_max_size", Some("20000")),
        ("limits", receiver, "gro_max_size", Some("1")),
        ("limits", receiver, "gso_max_segs", None),
        ("tcp", sender, "sysctl.net.ipv4.tcp_autocorking", Some("0")),
        (
            "tcp",
            sender,
            "sysctl.net.ipv4.tcp_limit_output_bytes",
            Some("65536"),
        ),
        ("sysctl", receiver, rmem, Some("4096 65536 524288")),
        ("sysctl", sender, rmem, None),
    ] {
        let found = in_effect(&run_of(label)[end], name);
        let wanted = value.map(|value| [value, value].map(str::to_owned));
        assert_eq!(found, wanted, "{label}: {name}");
    }
    for name in ["stress", "stress_load_percent"] {
        assert!(in_effect(&run_of("stress")[sender], name).is_some());
    }
    bench.assert_nothing_left();
}

fn host_setting_not_in_effect_fails_the_run() {
    let bench = Bench::new();
    let rows: &[(&[&str], i32, &str)] = &[
        (
            &["--offloads", "lro on"],
            1,
            "rx-lro requested on, in effect off [fixed]",
        ),
        (&["--offloads", "rx-gor on"], 3, "did you mean `rx-gro`"),
        (
            &["--sysctl", "net.ipv4.tcp_rmem=few"],
            3,
            "net.ipv4.tcp_rmem to \"few\"",
        ),
        (
            &["--sysctl", "net.ipv4.tcp_congestion_control=nonesuch"],
            3,
            "no such module",
        ),
        (
            &["--sysctl", "net.core.rmem_max=99999"],
            1,
            "the whole machine has one value, so a lab cannot have its own",
        ),
        (
            &["--set", "coalesce=rx_usecs 5"],
            3,
            "the interrupt coalescing of h",
        ),
        (
            &["--set", "stress=cpu on 4000"],
            3,
            "CPU 4000 does not exist or is not allowed",
        ),
    ];
    for (words, code, says) in rows {
        let done = bench
            .bitcost(&[&["test", "tcp", "-t", "100ms"], *words].concat())
            .with_code(*code);
        assert!(done.stderr.contains(says), "{words:?}: {}", done.stderr);
    }
    bench.assert_nothing_left();
}
