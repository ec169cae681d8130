//! Executions that stop before they are complete: killed, interrupted, with dead agents and labs, and resumed.
//! Agents that hang or are late are tested with scripted agents (crates/controller/tests).

use crate::bench::*;
use crate::calibration::constants;
use bitcost_analysis::log::nothing_measured;
use bitcost_model::event::FailureKind;
use bitcost_testkit::process::are_held;

bitcost_testkit::trials! {
    Host: killed_controller_leaves_nothing_and_resumes, interrupted_execution_prints_its_table_and_resumes, killed_agent_fails_one_run, missing_lab_ends_the_execution;
}

fn killed_controller_leaves_nothing_and_resumes() {
    let bench = Bench::new();
    let running = bench.start_small(SMALL, &[]);
    bench.wait_for_run(&running, 1);
    kill(&bench, running);
    let before = constants(&bench);
    assert_eq!(before.len(), 1);
    let running = bench.start(&["run", "--resume", &bench.execution_name()]);
    bench.wait_for_resumed_run(&running);
    // An agent that is stopped by a signal must end, too.
    for agent in bench.family.members_with("agent", "h1-eth0") {
        signal(agent, Signal::STOP);
    }
    kill(&bench, running);
    assert_eq!(runs_per_cell(&bench.resume()), [3, 3]);
    bench.assert_nothing_left();
    check_results(&bench);
    assert_eq!(constants(&bench), before);
}

/// Kills the controller alone; all other processes must end without help.
fn kill(bench: &Bench, running: Running) {
    let networks = bench.family.networks();
    // The controller, the lab daemon, two agents.
    assert!(bench.family.members().len() >= 4);
    assert!(networks.len() >= 2 && are_held(&networks), "{networks:?}");
    running.signal(Signal::KILL);
    bench.assert_nothing_left();
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
    let is_resumption = |event: &Event| matches!(event, Event::Resumed { .. });
    let times: Vec<Vec<u32>> = log.events.split(is_resumption).map(results).collect();
    assert!(times.iter().all(|runs| runs.is_sorted()), "{times:?}");
    // None is there twice, and none left out.
    let mut all = times.concat();
    all.sort_unstable();
    assert_eq!(all, [0, 1, 2, 3, 4, 5], "{times:?}");
}

fn interrupted_execution_prints_its_table_and_resumes() {
    let with_knobs = SMALL.replace("[workload]\n", "[workload]\noffloads = \"off\"\n");
    for (stop, study) in [(Signal::INT, &with_knobs), (Signal::TERM, &small_udp())] {
        let bench = Bench::new();
        let running = bench.start_small(study, &[]);
        bench.wait_for_run(&running, 1);
        running.signal_group(stop);
        let done = running.finish(PATIENCE);
        bench.assert_nothing_left();
        done.assert_code(130);
        done.assert_prints("Throughput (Mbit/s");
        let missing = 6 - results(&bench.log().events).len();
        done.assert_prints(&format!("missing: {missing} runs of 6 planned"));
        done.assert_says("--resume bitcost-runs/");
        // The agents restore their hosts while these are there.
        assert!(!done.stderr.contains("agent"), "{done:?}");
        check_log(&bench, &done.stdout);
        assert_eq!(runs_per_cell(&bench.resume()), [3, 3]);
        bench.assert_nothing_left();
        check_results(&bench);
    }
}

/// Asserts that the log has everything that was printed, and ends with the interrupted run.
fn check_log(bench: &Bench, printed: &str) {
    let shown = bench.bitcost(&["show", &bench.execution_name()]);
    assert_eq!((shown.code, shown.stdout.as_str()), (Some(0), printed));
    shown.assert_says("all tables");
    let log = bench.log();
    assert_eq!(plan(&log).runs.len(), 6);
    let last = log.events.last();
    let Some(Event::RunFailed { kind, .. }) = last else {
        panic!("{last:?}")
    };
    assert_eq!(*kind, FailureKind::Interrupted);
}

/// The interface of the receiver in the lab.
const RECEIVER: &str = "h2-eth0";

/// The second of four runs is lost, the others have results, and resuming makes the lost run again.
fn killed_agent_fails_one_run() {
    let bench = Bench::new();
    let running = bench.start_small(&small_udp(), &["--blocks", "2"]);
    bench.wait_for_run(&running, 1);
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
    let running = bench.start_small(SMALL, &["--blocks", "2"]);
    bench.wait_for_run(&running, 1);
    let daemons = bench.family.members_with("lab-daemon", "lo");
    assert_eq!(daemons.len(), 1, "{daemons:?}");
    signal(daemons[0], Signal::KILL);
    let done = running.finish(PATIENCE);
    bench.assert_nothing_left();
    done.assert_code(3);
    done.assert_says("the lab is gone");
    done.assert_says("resume: bitcost run --resume bitcost-runs/");
    // No run is tried without a lab.
    assert_eq!(failed(&bench.log()).len(), 1);
    assert_eq!(runs_per_cell(&bench.resume()), [2, 2]);
}
