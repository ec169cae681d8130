//! The limiter of runs for which it is known by construction and no load of the machine changes it.

use crate::bench::*;

bitcost_testkit::trials! {
    QuietHost: pacing_is_the_limiter_when_its_rate_is_reached, requests_are_bound_by_latency, shaper_is_named_with_its_interface, an_end_that_is_stopped_is_named;
    Host: few_transactions_point_to_their_latency;
}

/// The embedded lab with bitcost's own link emulator, which every kernel has.
const EMULATED: &str = "topology = \"lab15\"\ndelay_backend = \"builtin\"\n";

/// The document that `bitcost test` prints for a run of one second.
fn said(words: &[&str]) -> Value {
    let bench = Bench::new();
    bench.write("emulated.toml", EMULATED);
    let done = bench.bitcost(&[&["test"], words, &["-t", "1s", "--json"]].concat());
    if done.code != Some(0) && done.stderr.contains("this kernel has no") {
        bitcost_testkit::ignore(&done.stderr);
    }
    done.assert_code(0);
    let document: Value = serde_json::from_str(&done.stdout).unwrap();
    document["bottleneck"].clone()
}

fn pacing_is_the_limiter_when_its_rate_is_reached() {
    let verdict = said(&["tcp", "-l", "1024", "--rate", "5M"]);
    assert_eq!(verdict["limiter"], "application_pacing", "{verdict:#}");
    assert!(
        !verdict["evidence"].as_array().unwrap().is_empty(),
        "{verdict:#}"
    );
}

/// A single flow has one request at a time. On a path of 20 ms it waits for the response most of the
/// time.
fn requests_are_bound_by_latency() {
    let path = ["--topology", "emulated.toml"];
    for workload in ["rr", "crr"] {
        let verdict = said(&[&[workload], &path as &[_]].concat());
        assert_eq!(verdict["limiter"], "latency", "{verdict:#}");
        let detail = verdict["detail"].as_str().unwrap();
        assert!(detail.starts_with("one "), "{verdict:#}");
        assert!(detail.ends_with("µs are waiting"), "{verdict:#}");
    }
    // Threads that call all the time while they wait have no full CPU.
    let spins = said(&[&["rr", "--set", "waiting=spin"], &path as &[_]].concat());
    let limiter = spins["limiter"].as_str().unwrap_or_default();
    assert!(!limiter.ends_with("_cpu"), "{spins:#}");
}

fn shaper_is_named_with_its_interface() {
    let verdict = said(&["tcp", "--qdisc", "sender: tbf rate 20M"]);
    assert_eq!(verdict["limiter"], "rate", "{verdict:#}");
    assert_eq!(verdict["words"], "link or shaper rate at sender h1-eth0");
    assert_says(verdict["remedy"].as_str().unwrap(), &["raise the rate"]);
}

/// Each end of a stream in turn is stopped for 80 of every 100 ms.
fn an_end_that_is_stopped_is_named() {
    for (device, end) in [("h1-eth0", "sender"), ("h2-eth0", "receiver")] {
        let bench = Bench::new();
        let words = ["test", "tcp", "-t", "2s", "--json", "--topology", "pair"];
        let window = ["--receive-buffer", "256k"];
        let running = bench.start(&[&words[..], &window].concat());
        let agent = eventually(PATIENCE, "an agent", || {
            bench.family.members_with("agent", device).pop()
        });
        let pid = Pid::from_raw(agent.try_into().unwrap()).unwrap();
        // The agent ends before the program does.
        while running.is_running() {
            for (order, ms) in [(Signal::STOP, 80), (Signal::CONT, 20)] {
                let _ = kill_process(pid, order);
                thread::sleep(Duration::from_millis(ms));
            }
        }
        let verdict = &running.finish(PATIENCE).with_code(0).json()["bottleneck"];
        assert_eq!(verdict["limiter"], "paused", "{verdict:#}");
        let words = verdict["words"].as_str().unwrap();
        assert_eq!(words, format!("stopped program of the {end}"));
    }
}

/// Of a run that is too short for a verdict the text names the figures to look at.
fn few_transactions_point_to_their_latency() {
    let bench = Bench::new();
    let done = bench
        .bitcost(&["test", "rr", "-t", "200ms", "-O", "50ms"])
        .with_code(0);
    let words: Vec<&str> = done.stdout.split_whitespace().collect();
    let words = words.join(" ");
    assert_says(&words, &["unknown:", "latency of transactions"]);
}
