//! A study compared with a variant of itself: another setting, another bitcost, the records of
//! both, and what is refused.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use bitcost_execute::store::Log;
use bitcost_model::event::{Event, ProgramUsed};
use bitcost_testkit::process::eventually;
use rustix::process::Signal;
use serde_json::Value;

use crate::bench::{Bench, Done, PATIENCE, SMALL, ended, plan, program};

bitcost_testkit::trials! {
    Host: comparison_with_a_setting_reports_the_change, comparison_with_another_program_alternates_both, fail_on_worse_sets_the_exit_code;
}

/// Both variants are in every block, and the change is reported by the run and again from the log
/// alone.
fn comparison_with_a_setting_reports_the_change() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let done = bench.bitcost(&["run", "small.toml", "--against", "tso=off", "--json"]);
    done.assert_code(0);
    let document = done.json();
    assert_eq!(levels(&document, "tso"), ["base", "off", "base", "off"]);
    let comparison = &document["comparison"];
    assert_eq!(
        (&comparison["old"], &comparison["new"]),
        (&"tso=base".into(), &"tso=off".into())
    );
    assert_eq!(
        (
            &comparison["same_blocks"],
            comparison["cells"].as_array().unwrap().len()
        ),
        (&true.into(), 2)
    );
    let log = bench.log();
    for (block, cells) in (0..3).map(|block| (block, cells_of(&log, block))) {
        assert_eq!(cells, [0, 1, 2, 3], "block {block}");
    }
    for run in ended(&log) {
        let (is_off, [sender, _]) = (run.cell % 2 == 1, run.ends);
        assert_eq!(
            sender
                .offloads
                .requested
                .contains_key("tx-tcp-segmentation"),
            is_off,
            "{:?}",
            sender.offloads
        );
        assert!(
            !is_off || !sender.offloads.active["tx-tcp-segmentation"],
            "{:?}",
            sender.offloads
        );
    }
    let folder = bench.execution();
    let shown = bench.bitcost(&["show", folder.to_str().unwrap()]);
    shown.assert_prints("tso=base → tso=off\n\n");
    bench.assert_nothing_left();
}

/// A copy of the program under test with one more byte, so that its hash is different.
fn another(bench: &Bench) {
    let copy = bench.path().join("old");
    fs::copy(program(), &copy).unwrap();
    OpenOptions::new()
        .append(true)
        .open(&copy)
        .unwrap()
        .write_all(b"\n")
        .unwrap();
}

fn programs(log: &Log) -> Vec<ProgramUsed> {
    let found = log.events.iter().find_map(|event| match event {
        Event::Prepared { programs, .. } => Some(programs.clone()),
        _ => None,
    });
    found.unwrap()
}

/// Each run uses the program that its cell names, also after the execution was interrupted; the log
/// identifies the programs.
fn comparison_with_another_program_alternates_both() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    another(&bench);
    let running = bench.start(&["run", "small.toml", "--against", "./old", "--seed", "1"]);
    for file in [bench.path().join("old"), program()] {
        eventually(PATIENCE, "an agent of each program", || {
            agents(&bench).contains(&file).then_some(())
        });
    }
    running.signal_group(Signal::INT);
    running.finish(PATIENCE).assert_code(130);
    let used = programs(&bench.log());
    let asked: Vec<bool> = used
        .iter()
        .map(|program| program.requested.is_some())
        .collect();
    assert_eq!(asked, [false, true]);
    assert!(
        used[0].identity != used[1].identity && used[1].path.ends_with("/old"),
        "{used:?}"
    );
    assert_eq!(used[0].version, used[1].version);
    resumed(&bench);
    bench.assert_nothing_left();
}

fn resumed(bench: &Bench) {
    let folder = bench.execution();
    let resume = ["run", "--json", "--resume", folder.to_str().unwrap()];
    let old = bench.path().join("old");
    let whole = fs::read(&old).unwrap();
    fs::write(&old, [&whole[..], b"x"].concat()).unwrap();
    let refused = bench.bitcost(&resume);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    refused.assert_says("old is not the one of this execution");
    fs::write(&old, whole).unwrap();
    let done = bench.bitcost(&resume);
    done.assert_code(0);
    let document = done.json();
    assert_eq!(
        levels(&document, "program"),
        ["this", "./old", "this", "./old"]
    );
    let comparison = &document["comparison"];
    assert_eq!(
        (&comparison["old"], &comparison["new"]),
        (&"program=./old".into(), &"program=this".into())
    );
}

/// The program files of the agents that play the sender now.
fn agents(bench: &Bench) -> Vec<PathBuf> {
    let file = |pid: u32| fs::read_link(format!("/proc/{pid}/exe")).ok();
    bench
        .family
        .members_with("agent", "h1-eth0")
        .into_iter()
        .filter_map(file)
        .collect()
}

/// The variant is slower by construction: its queue sends 10 Mbit/s.
fn fail_on_worse_sets_the_exit_code() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let slow = "qdisc=sender: tbf rate 10M burst 64KiB limit 1MiB";
    let run = [
        "run",
        "small.toml",
        "--against",
        slow,
        "--fail-on",
        "worse",
        "--threshold",
        "20",
        "--blocks",
        "5",
    ];
    let done: Done = bench.bitcost(&run);
    assert_eq!(done.code, Some(1), "{}\n{}", done.stderr, done.stdout);
    assert!(
        done.stdout.contains(" worse") && done.stderr.contains(" worse"),
        "{}\n{}",
        done.stdout,
        done.stderr
    );
}

fn levels(document: &Value, factor: &str) -> Vec<String> {
    let cells = document["cells"].as_array().unwrap();
    cells
        .iter()
        .map(|cell| cell["levels"][factor].as_str().unwrap().to_owned())
        .collect()
}

fn cells_of(log: &Log, block: u32) -> Vec<usize> {
    let mut cells: Vec<usize> = plan(log)
        .runs
        .iter()
        .filter(|run| run.block == block)
        .map(|run| run.cell)
        .collect();
    cells.sort_unstable();
    cells
}
