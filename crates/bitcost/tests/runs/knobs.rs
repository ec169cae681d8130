//! Host settings of a run: recorded as requested and as in effect, restored afterwards, and an
//! error if they have no effect.

use serde_json::Value;

use crate::bench::Bench;

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

/// The requested and the actual value of an endpoint's setting in a document.
fn in_effect(run: &Value, end: &str, name: &str) -> Option<(Value, Value)> {
    let all = run[end]["in_effect"].as_array()?;
    let entry = all.iter().find(|entry| entry["name"] == name)?;
    Some((entry["requested"].clone(), entry["actual"].clone()))
}

fn host_settings_recorded_as_requested_and_in_effect() {
    let bench = Bench::new();
    bench.write("mine.toml", STUDY);
    let done = bench.bitcost(&["run", "mine.toml"]);
    done.assert_code(0);
    let log = serde_json::to_value(&bench.log().events).unwrap();
    let events = log.as_array().unwrap();
    let plan = events
        .iter()
        .find(|event| event["event"] == "planned")
        .unwrap();
    let run_of = |label: &str| {
        let cells = plan["plan"]["cells"].as_array().unwrap();
        let cell = cells
            .iter()
            .position(|cell| cell["levels"][0][1] == label)
            .unwrap();
        let run = plan["plan"]["runs"]
            .as_array()
            .unwrap()
            .iter()
            .find(|run| run["cell"] == cell)
            .unwrap();
        events
            .iter()
            .find(|event| event["event"] == "run_ended" && event["run"] == run["index"])
            .unwrap()
    };
    let both = |text: &str| Some((Value::from(text), Value::from(text)));
    for end in ["sender", "receiver"] {
        assert_eq!(in_effect(run_of("mtu"), end, "mtu_bytes"), both("1400"));
        assert_eq!(
            in_effect(run_of("mtu"), end, "sysctl.net.ipv4.tcp_sack"),
            both("0"),
            "of every level"
        );
        assert_eq!(in_effect(run_of("as found"), end, "mtu_bytes"), None);
        let features = &run_of("features")[end]["offloads"];
        assert_eq!(
            (
                &features["active"]["rx-gro"],
                &features["active"]["tx-tcp-segmentation"]
            ),
            (&true.into(), &false.into())
        );
        assert_eq!(features["requested"], features["active"]);
    }
    assert_eq!(
        in_effect(run_of("qdisc"), "sender", "qdisc.rate_bps"),
        both("200000000")
    );
    assert_eq!(in_effect(run_of("qdisc"), "receiver", "qdisc.kind"), None);
    // The host called receiver sends.
    assert_eq!(
        in_effect(run_of("reversed"), "sender", "qdisc.rate_bps"),
        both("200000000")
    );
    assert_eq!(
        in_effect(run_of("reversed"), "receiver", "qdisc.kind"),
        None
    );
    let limits = run_of("limits");
    assert_eq!(in_effect(limits, "sender", "gso_max_segs"), both("1"));
    assert_eq!(in_effect(limits, "sender", "gso_max_size"), both("20000"));
    assert_eq!(in_effect(limits, "receiver", "gro_max_size"), both("1"));
    assert_eq!(in_effect(limits, "receiver", "gso_max_segs"), None);
    let tcp = run_of("tcp");
    let corking = in_effect(tcp, "sender", "sysctl.net.ipv4.tcp_autocorking");
    assert_eq!(corking, both("0"));
    let output = in_effect(tcp, "sender", "sysctl.net.ipv4.tcp_limit_output_bytes");
    assert_eq!(output, both("65536"));
    let rmem = "sysctl.net.ipv4.tcp_rmem";
    assert_eq!(
        in_effect(run_of("sysctl"), "receiver", rmem),
        both("4096 65536 524288")
    );
    assert_eq!(in_effect(run_of("sysctl"), "sender", rmem), None);
    assert!(in_effect(run_of("stress"), "sender", "stress").is_some());
    assert!(in_effect(run_of("stress"), "sender", "stress_load_percent").is_some());
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
        let done = bench.bitcost(&[&["test", "tcp", "-t", "100ms"], *words].concat());
        done.assert_code(*code);
        assert!(done.stderr.contains(says), "{words:?}: {}", done.stderr);
    }
    bench.assert_nothing_left();
}
