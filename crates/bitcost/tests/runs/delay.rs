//! Link emulators of a lab: what a run over one records, and how the queue of one affects a flow.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: link_emulator_counters_are_recorded, queue_limit_without_a_queue_is_refused, netem_by_name_is_used_or_refused;
}

/// Two queues on one path of 10 ms: one that drops, and one that does not.
const STUDY: &str = r#"title = "Two queues"
question = "Which one drops?"
[lab]
hosts = ["h1", "h2"]
napi = "inline"
delay_backend = "builtin"
[[lab.link]]
ends = ["h1", "h2"]
[lab.egress.h1-eth0]
delay = "10ms"
[workload]
workload = "udp_stream"
message_size_bytes = 1000
rate_bps = "8M"
warmup_s = 0
duration_s = 0.5
[[factor]]
name = "queue"
levels = [
  { label = "short", emulator_queue_limit = "2 packets" },
  { label = "long", emulator_queue_limit = "50000 packets" },
]
[[factor]]
name = "offloads"
levels = ["on"]
[run]
blocks = 1
[table]
rows = "queue"
metrics = ["throughput_mbps", "emulator_dropped_packets"]
improvement = { factor = "queue", old = "long", new = "short" }
"#;

fn link_emulator_counters_are_recorded() {
    let bench = Bench::new();
    bench.write("queues.toml", STUDY);
    let done = bench
        .bitcost(&["run", "queues.toml", "--json"])
        .with_code(0);
    let mut runs = ended(&bench.log());
    runs.sort_by_key(|run| run.cell);
    let [short, long] = [0, 1].map(|cell: usize| runs[cell].ends[0].clone());
    let last = |record: &EndpointRecord| record.samples.last().unwrap().emulators.clone();
    for record in [&short, &long] {
        let lines = last(record);
        assert_eq!(
            lines
                .iter()
                .map(|line| line.device.as_str())
                .collect::<Vec<_>>(),
            ["h1-eth0", "h2-eth0"]
        );
        assert!(lines[0].departed.packets > 0 && !lines[0].late.is_empty() && lines[0].cpu_ns > 0);
        assert!(
            record
                .samples
                .last()
                .unwrap()
                .queues
                .iter()
                .any(|queue| queue.kind == "link_emulator")
        );
    }
    // Of 1000 datagrams per second with 10 ms of delay ten are in flight, and the queue has room
    // for two.
    assert!(last(&short)[0].overflowed.packets > 0);
    let grown = last(&long)[0].overflowed.packets
        - long.samples.first().unwrap().emulators[0]
            .overflowed
            .packets;
    assert_eq!(grown, 0);
    let [_, limit] = in_effect(&short, "emulator_queue_limit").unwrap();
    assert_eq!(limit, "2 packets");
    let document: Value = done.json();
    let drops = |cell: usize| {
        document["cells"][cell]["emulator_dropped_packets"]["median"]
            .as_f64()
            .unwrap()
    };
    assert!(drops(0) > 0.0 && drops(1) == 0.0, "{}", done.stdout);
    let notes = document["place_notes"].to_string();
    assert!(notes.contains("link emulator, as requested"), "{notes}");
}

fn queue_limit_without_a_queue_is_refused() {
    let bench = Bench::new();
    let test = split("test tcp -t 0.2s --set 'emulator_queue_limit=9 packets'");
    let done = bench.bitcost(&test);
    assert_ne!(done.code, Some(0));
    done.assert_says("nothing in this lab delays");
}

/// netem is used if it is requested by name and the kernel has it; otherwise the lab is refused,
/// with the command that shows why.
fn netem_by_name_is_used_or_refused() {
    let bench = Bench::new();
    let bitcost = |backend| {
        let lab = format!("topology = \"lab15\"\ndelay_backend = \"{backend}\"\n");
        bench.write("delayed.toml", &lab);
        bench.bitcost(&["test", "tcp", "-t", "0.2s", "--topology", "delayed.toml"])
    };
    let (auto, netem) = (bitcost("auto"), bitcost("netem"));
    auto.assert_code(0);
    if auto.stderr.contains("made by the kernel's netem") {
        netem.assert_code(0);
        netem.assert_says("made by the kernel's netem");
        return;
    }
    auto.assert_says("because this kernel has no netem");
    netem.assert_code(3);
    assert_says(
        &netem.stderr,
        &[
            "this kernel does not have it",
            "unshare -rn tc qdisc add dev lo root netem",
            "delay_backend = \"builtin\"",
        ],
    );
    bench.assert_nothing_left();
}
