//! Agents that die or hang: the run is lost with its reason, and no other.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::bench::{Bench, Done, PATIENCE, Running, SMALL, failed, runs_per_cell, signal, small_udp};

/// How long an execution may take that lost an agent to silence: every deadline, one after the other.
const HANGING: Duration = Duration::from_secs(25);

/// The interface of each end in the lab.
const SENDER: &str = "h1-eth0";
const RECEIVER: &str = "h2-eth0";

/// Starts an execution and sends a signal to the agent of one end during the second run.
fn start_and_signal(bench: &Bench, study: &str, device: &str, what: Signal) -> Running {
    bench.write("small.toml", study);
    let running = bench.start(&["run", "small.toml", "--seed", "1", "--blocks", "2"]);
    bench.wait_for_run(1);
    let agents = bench.family.members_with("agent", device);
    assert_eq!(agents.len(), 1, "agents at {device}: {agents:?}");
    signal(agents[0], what);
    running
}

/// The second run of four is lost, the others are there, and resuming makes up for it.
fn check(bench: &Bench, done: &Done, reasons: &[&str]) {
    bench.assert_nothing_left();
    done.assert_code(1);
    let failed = failed(&bench.log());
    assert_eq!(failed.keys().collect::<Vec<_>>(), [&1], "{failed:?}");
    assert!(reasons.iter().any(|reason| failed[&1].contains(reason)), "{failed:?}");
    assert!(done.stdout.contains("left out: run 2 "), "{}", done.stdout);
    assert!(done.stderr.contains("run 2 of 4") && done.stderr.contains("no result: "), "{}", done.stderr);
    let shown = bench.bitcost(&["show", "--json", bench.execution().to_str().unwrap()]).json();
    assert_eq!(runs_per_cell(&shown).iter().sum::<u64>(), 3);
    assert_eq!(shown["excluded"][0]["run"], 1);
    let resumed = bench.resume();
    assert_eq!((runs_per_cell(&resumed), resumed["excluded"].as_array().map(Vec::len)), (vec![2, 2], Some(0)));
    bench.assert_nothing_left();
}

pub fn killed() {
    for (study, device) in [(SMALL, SENDER), (&small_udp(), RECEIVER)] {
        let bench = Bench::new();
        let running = start_and_signal(&bench, study, device, Signal::KILL);
        let done = running.finish(PATIENCE);
        check(&bench, &done, &["signal: 9"]);
    }
}

pub fn lab_gone() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let running = bench.start(&["run", "small.toml", "--seed", "1", "--blocks", "2"]);
    bench.wait_for_run(1);
    let holders = bench.family.members_with("lab-holder", "lo");
    assert_eq!(holders.len(), 1, "{holders:?}");
    signal(holders[0], Signal::KILL);
    let done = running.finish(PATIENCE);
    bench.assert_nothing_left();
    done.assert_code(3);
    assert!(done.stderr.contains("the lab is gone"), "{}", done.stderr);
    assert!(done.stderr.contains("go on: bitcost run --resume bitcost-runs/"), "{}", done.stderr);
    assert_eq!(failed(&bench.log()).len(), 1, "no run is tried without a lab");
    assert_eq!(runs_per_cell(&bench.resume()), [2, 2]);
}

/// The executions hang beside each other, since each waits for deadlines.
pub fn hanging() {
    let cases = [(SMALL.to_owned(), SENDER), (small_udp(), RECEIVER), (SMALL.to_owned(), RECEIVER)];
    let start = |(study, device): &(String, &str)| {
        let bench = Bench::new();
        let running = start_and_signal(&bench, study, device, Signal::STOP);
        (bench, running)
    };
    let running: Vec<(Bench, Running)> = cases.iter().map(start).collect();
    let stopped = Instant::now();
    for (bench, running) in running {
        let done = running.finish(HANGING.saturating_sub(stopped.elapsed()));
        check(&bench, &done, &["hangs", "takes nothing", "did not take"]);
    }
}
