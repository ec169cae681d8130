//! A study compared with a variant of itself: the records of both, and what is refused.

use crate::bench::*;
use bitcost_execute::store::Log;

bitcost_testkit::trials! {
    Host: comparison_with_a_setting_reports_the_change, fail_on_worse_sets_the_exit_code;
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
