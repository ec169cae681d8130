//! Agents that die, and a lab that ends: the run is lost with its reason, and no other run is.
//! Agents that hang or are late are tested with scripted agents (crates/controller/tests).

use rustix::process::Signal;

use crate::bench::{Bench, PATIENCE, SMALL, failed, runs_per_cell, signal, small_udp};

bitcost_testkit::trials! {
    Host: killed_agent_fails_one_run, missing_lab_ends_the_execution;
}

/// The interface of the receiver in the lab.
const RECEIVER: &str = "h2-eth0";

/// The second of four runs is lost, the others have results, and resuming makes the lost run again.
fn killed_agent_fails_one_run() {
    let bench = Bench::new();
    bench.write("small.toml", &small_udp());
    let running = bench.start(&["run", "small.toml", "--seed", "1", "--blocks", "2"]);
    bench.wait_for_run(1);
    let agents = bench.family.members_with("agent", RECEIVER);
    assert_eq!(agents.len(), 1, "agents at {RECEIVER}: {agents:?}");
    signal(agents[0], Signal::KILL);
    let done = running.finish(PATIENCE);
    bench.assert_nothing_left();
    done.assert_code(1);
    let failed = failed(&bench.log());
    assert_eq!(failed.keys().collect::<Vec<_>>(), [&1], "{failed:?}");
    assert!(failed[&1].contains("signal: 9"), "{failed:?}");
    done.assert_prints("left out: ");
    done.assert_says("run 2 of 4");
    done.assert_says("no result: ");
    let resumed = bench.resume();
    let excluded = resumed["excluded"].as_array().map(Vec::len);
    assert_eq!((runs_per_cell(&resumed), excluded), (vec![2, 2], Some(0)));
    bench.assert_nothing_left();
}

fn missing_lab_ends_the_execution() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let running = bench.start(&["run", "small.toml", "--seed", "1", "--blocks", "2"]);
    bench.wait_for_run(1);
    let daemons = bench.family.members_with("lab-daemon", "lo");
    assert_eq!(daemons.len(), 1, "{daemons:?}");
    signal(daemons[0], Signal::KILL);
    let done = running.finish(PATIENCE);
    bench.assert_nothing_left();
    done.assert_code(3);
    done.assert_says("the lab is gone");
    done.assert_says("resume: bitcost run --resume bitcost-runs/");
    assert_eq!(
        failed(&bench.log()).len(),
        1,
        "no run is tried without a lab"
    );
    assert_eq!(runs_per_cell(&bench.resume()), [2, 2]);
}
