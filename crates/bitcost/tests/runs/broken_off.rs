//! Executions that stop before they are complete: killed, interrupted, with dead agents and labs, and resumed.
//! Agents that hang or are late are tested with scripted agents (crates/controller/tests).

use std::path::{Path, PathBuf};

use bitcost_analysis::log::nothing_measured;
use bitcost_model::event::{Event, FailureKind};
use bitcost_testkit::process::{are_held, eventually};
use rustix::process::Signal;

use crate::bench::{
    Bench, PATIENCE, Running, SMALL, failed, log_file, plan, runs_per_cell, signal, small_udp,
};

bitcost_testkit::trials! {
    Host: killed_controller_leaves_nothing_and_resumes, interrupted_execution_prints_its_table_and_resumes, killed_agent_fails_one_run, missing_lab_ends_the_execution, a_study_is_executed_several_times, an_interrupted_pause_keeps_what_is_done;
}

fn killed_controller_leaves_nothing_and_resumes() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let running = bench.start(&["run", "small.toml", "--seed", "1"]);
    bench.wait_for_run(1);
    kill(&bench, running);
    let folder = bench.execution();
    let running = bench.start(&["run", "--resume", folder.to_str().unwrap()]);
    bench.wait_for_resumed_run();
    // An agent that is stopped by a signal must end, too.
    bench
        .family
        .members_with("agent", "h1-eth0")
        .into_iter()
        .for_each(|agent| signal(agent, Signal::STOP));
    kill(&bench, running);
    assert_eq!(runs_per_cell(&bench.resume()), [3, 3]);
    bench.assert_nothing_left();
    check_results(&bench);
}

/// Kills the controller alone; all other processes must end without help.
fn kill(bench: &Bench, running: Running) {
    let networks = bench.family.networks();
    assert!(
        bench.family.members().len() >= 4,
        "the controller, the lab daemon, two agents"
    );
    assert!(networks.len() >= 2 && are_held(&networks), "{networks:?}");
    running.signal(Signal::KILL);
    eventually(PATIENCE, "every process is gone", || {
        bench.family.members().is_empty().then_some(())
    });
    eventually(PATIENCE, "every network is gone", || {
        (!are_held(&networks)).then_some(())
    });
    assert_eq!(running.finish(PATIENCE).code, None);
}

/// The runs whose results are in the log. On a busy machine one may fail or measure nothing, and is
/// then repeated.
fn results(events: &[Event]) -> Vec<u32> {
    let result = |event: &Event| match event {
        Event::RunEnded {
            run,
            sender,
            receiver,
            ..
        } => (!nothing_measured(sender, receiver)).then_some(*run),
        _ => None,
    };
    events.iter().filter_map(result).collect()
}

/// Asserts that each run has one result, and that runs were made in their order each time the
/// execution was resumed.
fn check_results(bench: &Bench) {
    let log = bench.log();
    let times: Vec<Vec<u32>> = log
        .events
        .split(|event| matches!(event, Event::Resumed { .. }))
        .map(results)
        .collect();
    assert!(times.iter().all(|runs| runs.is_sorted()), "{times:?}");
    let mut all = times.concat();
    all.sort_unstable();
    assert_eq!(
        all,
        (0..6).collect::<Vec<u32>>(),
        "none twice, none left out: {times:?}"
    );
}

fn interrupted_execution_prints_its_table_and_resumes() {
    let with_knobs = SMALL.replace("[workload]\n", "[workload]\noffloads = \"off\"\n");
    for (stop, study) in [(Signal::INT, &with_knobs), (Signal::TERM, &small_udp())] {
        let bench = Bench::new();
        bench.write("small.toml", study);
        let running = bench.start(&["run", "small.toml", "--seed", "1"]);
        bench.wait_for_run(1);
        running.signal_group(stop);
        let done = running.finish(PATIENCE);
        bench.assert_nothing_left();
        done.assert_code(130);
        done.assert_prints("Throughput (Mbit/s");
        let missing = format!(
            "missing: {} runs of 6 planned",
            6 - results(&bench.log().events).len()
        );
        assert!(done.stdout.contains(&missing), "{missing}: {}", done.stdout);
        done.assert_says("--resume bitcost-runs/");
        assert!(
            !done.stderr.contains("agent"),
            "the agents restore their hosts while these are there: {}",
            done.stderr
        );
        check_log(&bench, &done.stdout);
        assert_eq!(runs_per_cell(&bench.resume()), [3, 3]);
        bench.assert_nothing_left();
        check_results(&bench);
    }
}

/// Asserts that the log has everything that was printed, and ends with the interrupted run.
fn check_log(bench: &Bench, printed: &str) {
    let shown = bench.bitcost(&["show", bench.execution().to_str().unwrap()]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), printed));
    shown.assert_says("all tables");
    let log = bench.log();
    assert_eq!(plan(&log).runs.len(), 6);
    let last = log.events.last();
    let is_it = |event: &Event| {
        matches!(
            event,
            Event::RunFailed {
                kind: FailureKind::Interrupted,
                ..
            }
        )
    };
    assert!(last.is_some_and(is_it), "{last:?}");
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

/// The folders of all executions.
fn executions(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder.join("bitcost-runs"));
    let entries = entries.into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn a_study_is_executed_several_times() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let words = "run small.toml --executions 2 --pause 10ms --no-calibration --blocks 1 --json";
    let done = bench.bitcost(&words.split(' ').collect::<Vec<_>>());
    done.assert_code(0);
    let folders = executions(bench.path());
    assert_eq!(folders.len(), 2);
    assert!(folders.iter().all(|folder| log_file(folder).exists()));
    let documents = done.json();
    assert_eq!(documents.as_array().map(Vec::len), Some(2), "{documents}");
    for folder in &folders {
        let name = folder.file_name().unwrap().to_str().unwrap();
        done.assert_says(&format!("execution: bitcost-runs/{name}"));
    }
    bench.assert_nothing_left();
}

fn an_interrupted_pause_keeps_what_is_done() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let words = "run small.toml --executions 3 --pause 1h --no-calibration --blocks 1";
    let running = bench.start(&words.split(' ').collect::<Vec<_>>());
    eventually(PATIENCE, "the pause", || {
        running.stderr().contains("pause of").then_some(())
    });
    running.signal(Signal::INT);
    let done = running.finish(PATIENCE);
    done.assert_code(130);
    done.assert_prints("Throughput (Mbit/s");
    done.assert_says("execution: bitcost-runs/");
    assert_eq!(executions(bench.path()).len(), 1);
    bench.assert_nothing_left();
}
