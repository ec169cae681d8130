//! `bitcost test`: settings that are not in effect, repeats, modes, and a closed output.

use crate::bench::*;
use std::io::{BufRead, BufReader};

use serde_json::json;

bitcost_testkit::trials! {
    Host: setting_not_in_effect_fails_the_run, closed_output_ends_the_run, socket_settings_are_in_effect, affinity_is_in_effect;
    QuietHost: test_repeats_until_the_interval_is_narrow, study_ends_when_its_stop_rule_is_met;
}

/// A short run of one workload with these settings.
fn test(bench: &Bench, words: &[&str]) -> Done {
    bench.bitcost(&[&["test"], words, &["-t", "200ms", "-O", "50ms"]].concat())
}

fn setting_not_in_effect_fails_the_run() {
    let bench = Bench::new();
    let most: u64 = fs::read_to_string("/proc/sys/net/core/rmem_max")
        .unwrap()
        .trim()
        .parse()
        .unwrap();
    test(&bench, &["udp", "--receive-buffer", "8192"]).assert_code(0);
    let asked: u64 = 0x3fff_ffff;
    if most >= asked {
        bitcost_testkit::ignore(
            "net.core.rmem_max of this host is over every buffer that can be asked for",
        );
    }
    let done = test(
        &bench,
        &["udp", "--receive-buffer", &asked.to_string(), "-v"],
    )
    .with_code(1);
    let missed = format!("receiver: receive_buffer_bytes requested {asked}, in effect {most}");
    let printed: Vec<&str> = done.stdout.split_whitespace().collect();
    let printed = printed.join(" ");
    assert_says(&printed, &[&format!("not in effect: {missed}")]);
    done.assert_says("bitcost: not in effect: sender: receive_buffer_bytes");
    assert!(done.stderr.contains(&missed), "{}", done.stderr);
    bench.assert_nothing_left();
}

fn test_repeats_until_the_interval_is_narrow() {
    let bench = Bench::new();
    // Any two runs are as near to each other as the first share asks, and no two are as near as the
    // second asks.
    for (share, range, runs, reached) in [
        ("100%", "2-9", 2..10, true),
        ("0.000001%", "2-3", 3..4, false),
    ] {
        let words = [
            "tcp",
            "-b",
            "50M",
            "--until-interval",
            share,
            "--repeats",
            range,
            "--json",
        ];
        let metric = ["--metric", "sender_thread_cpu_us_per_kib"];
        let done = test(&bench, &[&words[..], &metric].concat()).with_code(0);
        let document = done.json();
        let made = document["cells"][0]["runs"].as_u64().unwrap() as usize;
        let is_so = runs.contains(&made) && document["runs"] == made;
        assert!(is_so, "{made} runs with {share}");
        let rule = &document["until_interval"];
        assert_eq!(rule["reached"], reached, "{rule}");
        let figure = &document["cells"][0]["throughput_mbps"];
        let interval = ["low", "median", "high"].map(|name| figure[name].as_f64());
        assert!(interval.is_sorted(), "{figure}");
    }
    bench.assert_nothing_left();
}

/// The rule is the study's, but for its width.
fn study_ends_when_its_stop_rule_is_met() {
    let bench = Bench::new();
    let rule = "blocks = 2\nuntil_interval_pct = 0.001\nmax_blocks = 20\n";
    bench.write("mine.toml", &SMALL.replacen("blocks = 3\n", rule, 1));
    let words = ["run", "mine.toml", "--until-interval", "100%"];
    let done = bench.bitcost(&words).with_code(0);
    done.assert_says(
        "after 2 blocks: intervals (minimum and maximum of 2 runs: 50 % instead of 95 %) of the median of throughput narrower",
    );
    done.assert_prints("stop rule: ");
    done.assert_prints("reached in every cell");
    let folder = bench.execution_name();
    let document = bench.bitcost(&["show", "--json", &folder]).json();
    let blocks = document["blocks"].as_u64().unwrap();
    assert!((2..20).contains(&blocks), "{blocks}");
    assert_eq!(document["incomplete_runs"], json!([]));
    let runs = runs_per_cell(&document);
    assert!(runs.iter().all(|runs| *runs == blocks), "{runs:?}");
    // Resuming a complete execution adds only the lines of the resumption.
    let again = bench.bitcost(&["run", "--resume", &folder]).with_code(0);
    assert_eq!(again.stdout, done.stdout);
}

/// The reader leaves after the first line: the run ends, its log is named, and no process is left.
fn closed_output_ends_the_run() {
    let bench = Bench::new();
    let mut command = bench.command(&program(), &["test", "tcp", "-t", "20s", "-O", "50ms"]);
    let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    let mut first = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut first).unwrap();
    drop(output);
    assert!(first.contains("sender"), "{first}");
    let status = eventually(PATIENCE, "it ends", || child.try_wait().unwrap());
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert_eq!(status.code(), Some(141));
    assert!(!said.contains("bitcost: "), "{said}");
    // Where the lab may not place the receive work, notes on that come before.
    let lines = said.lines().filter(|line| !line.starts_with("note: "));
    let lines: Vec<&str> = lines.collect();
    assert!(
        matches!(lines[..], [again] if again.starts_with("print again: ")),
        "{said}"
    );
    bench.assert_nothing_left();
}

fn socket_settings_are_in_effect() {
    let bench = Bench::new();
    let words = split("test tcp --json --samples -t 300ms -O 100ms -P 2 --offloads off -p 5201");
    let words = [&words[..], &["--receiver-address", "fd00::2"]].concat();
    let ends = bench.bitcost(&words).with_code(0).records();
    for end in &ends {
        assert_eq!(end.flows.len(), 2);
        let active = &end.offloads.active;
        let is_off = active.len() >= 3 && active.values().all(|on| !on);
        assert!(is_off, "{active:?}");
        let window_ns = end.window_end_ns - end.window_start_ns;
        // Its start may be late, but not its end.
        let possible = 150_000_000..5_000_000_000;
        assert!(possible.contains(&window_ns), "{window_ns}");
        assert_eq!(in_effect(end, "ip_version").unwrap()[1], "6");
    }
    let [sender, receiver] = ends;
    for (name, value) in [("receiver_address", "fd00::2"), ("receiver_ports", "5201")] {
        assert_eq!(in_effect(&receiver, name).unwrap(), [value; 2]);
    }
    let warmup = sender.counts.outside.messages;
    assert!(warmup > 0, "the warm-up is counted apart");
    bench.assert_nothing_left();
}

/// Present if an agent in the host with this device has a thread on these CPUs alone.
fn has_affinity(bench: &Bench, device: &str, cpus: &str) -> Option<()> {
    let wanted = format!("Cpus_allowed_list:\t{cpus}\n");
    let tasks = bench.family.members_with("agent", device).into_iter();
    let tasks = tasks.flat_map(|pid| fs::read_dir(format!("/proc/{pid}/task")));
    let status = |task: fs::DirEntry| fs::read_to_string(task.path().join("status"));
    let mut statuses = tasks.flatten().flatten().flat_map(status);
    statuses
        .any(|status| status.contains(&wanted))
        .then_some(())
}

fn affinity_is_in_effect() {
    let bench = Bench::new();
    let words = split("test udp --json -t 20s --sender-cpus 1 --receiver-cpus 0");
    let running = bench.start(&words);
    eventually(PATIENCE, "the sender has its CPU", || {
        has_affinity(&bench, "h1-eth0", "1")
    });
    eventually(PATIENCE, "the receiver has its CPU", || {
        has_affinity(&bench, "h2-eth0", "0")
    });
    drop(running);
    let words = [&["rr", "--json", "--samples"], &words[5..]].concat();
    let done = test(&bench, &words).with_code(0);
    let [sender, receiver] = done.records();
    assert_eq!(in_effect(&sender, "sender_cpus").unwrap(), ["1"; 2]);
    assert_eq!(in_effect(&receiver, "receiver_cpus").unwrap(), ["0"; 2]);
    bench.assert_nothing_left();
}
