//! Executions that stop before they are complete: killed, interrupted, and resumed.

use bitcost_analysis::log::nothing_measured;
use bitcost_model::event::{Event, FailureKind};
use bitcost_testkit::process::{are_held, eventually};
use rustix::process::Signal;

use crate::bench::{Bench, PATIENCE, Running, SMALL, plan, runs_per_cell, signal, small_udp};

bitcost_testkit::trials! {
    Host: killed_controller_leaves_nothing_and_resumes, interrupted_execution_prints_its_table_and_resumes;
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
