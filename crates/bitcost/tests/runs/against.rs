//! A study compared with a variant of itself: the records of both, and what is refused.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: comparison_with_a_setting_reports_the_change, fail_on_worse_sets_the_exit_code,
        a_test_is_interleaved_with_its_variant, a_larger_mtu_has_room_in_the_lab_and_runs_fit_a_budget,
        gates_and_names_of_tests;
}

const TSO_OFF: &str = "--offloads 'tso off'";

/// Both variants are in every block, and the change is reported by the run and again from the log
/// alone.
fn comparison_with_a_setting_reports_the_change() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let done = bench.bitcost(&["run", "small.toml", "--against", TSO_OFF, "--json"]);
    done.assert_code(0);
    let document = done.json();
    assert_eq!(
        levels(&document, "options"),
        ["base", TSO_OFF, "base", TSO_OFF]
    );
    let comparison = &document["comparison"];
    assert_eq!(
        (&comparison["old"], &comparison["new"]),
        (&"options=base".into(), &format!("options={TSO_OFF}").into())
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
    shown.assert_prints("options=base → options=--offloads 'tso off'\n\n");
    bench.assert_nothing_left();
}

/// The variant is slower by construction: its queue sends 10 Mbit/s.
fn fail_on_worse_sets_the_exit_code() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let slow = "--qdisc 'sender: tbf rate 10M burst 64KiB limit 1MiB'";
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

/// Ten blocks of both sides, of which one sends at a tenth of the rate.
fn a_test_is_interleaved_with_its_variant() {
    let bench = Bench::new();
    let test = ["test", "tcp", "--time", "300ms", "--rate", "100M"];
    let against = [
        "--budget",
        "12s",
        "--against",
        "-b 10M",
        "--fail-on",
        "worse",
    ];
    let done: Done = bench.bitcost(&[&test[..], &against].concat());
    assert_eq!(done.code, Some(1), "{}\n{}", done.stderr, done.stdout);
    let first = done.stdout.lines().next().unwrap_or_default();
    // Of the rate, or of the cost to send at so low a one.
    assert!(first.ends_with(": worse."), "{}", done.stdout);
    done.assert_prints("Throughput (Mbit/s)");
    done.assert_prints("options=base → options=-b 10M");
    let blocks = plan(&bench.log()).blocks;
    assert!(blocks >= 5, "{blocks}");
    bench.assert_nothing_left();
    let refused = |words: &[&str], says: &[&str]| {
        let done = bench.bitcost(&[&["test", "tcp"], words].concat());
        done.assert_code(2);
        assert_says(&done.stderr, says);
    };
    refused(
        &["--against", "--topology lab15"],
        &["--topology", "hosts and lab"],
    );
    refused(
        &["--against", "tso=off"],
        &["`tso=off`", "--congestion bbr"],
    );
    refused(&["--against", "'-b 1M"], &["a quote is not closed"]);
    refused(
        &["--against", "-b 1M", "--budget", "2s"],
        &["5 runs of each side take"],
    );
    refused(&["--fail-on", "worse"], &["needs --against"]);
}

fn a_larger_mtu_has_room_in_the_lab_and_runs_fit_a_budget() {
    let bench = Bench::new();
    let test = ["test", "tcp", "--mtu", "1500", "--against", "--mtu 9000"];
    let done = bench.bitcost(&[&test[..], &["--budget", "12s"]].concat());
    done.assert_code(0);
    let log = bench.log();
    let plan = plan(&log);
    assert!(plan.blocks >= 5 && plan.total_time().as_secs() <= 12);
    for run in ended(&log) {
        let mtu = ["1500", "9000"][run.cell].to_owned();
        for end in run.ends {
            assert_eq!(
                in_effect(&end, "mtu_bytes"),
                Some([mtu.clone(), mtu.clone()])
            );
        }
    }
    bench.assert_nothing_left();
}

/// A requested rate is kept by each test, and its interval is far from both bounds.
fn gates_and_names_of_tests() {
    let bench = Bench::new();
    let test = |words: &[&str]| {
        let test = ["test", "tcp", "--time", "1s", "--rate", "50M"];
        bench.bitcost(&[&test[..], words].concat())
    };
    test(&["--name", "before", "--fail-under", "5M"]).assert_code(0);
    let under = test(&["--name", "after", "--fail-under", "5G"]);
    under.assert_code(1);
    assert_says(&under.stderr, &["allowed: at least 5000"]);
    let said = one_line(&under.stderr);
    let (_, figure) = said.split_once("Throughput is ").expect("a figure");
    let mbps: f64 = figure.split(' ').next().unwrap().parse().expect("a number");
    assert!(mbps > 0.0 && mbps < 51.0, "{mbps} Mbit/s at a rate of 50");
    let open = test(&["--no-log", "--fail-under", "50M"]);
    open.assert_code(4);
    assert_says(&open.stderr, &["cannot tell: Throughput is"]);
    // Beside other programs the cost is not known.
    let cost = test(&["--no-log", "--fail-over-cost", "0.00001"]).code;
    assert!([Some(1), Some(4)].contains(&cost), "{cost:?}");
    let unit = test(&["--fail-under", "5 apples"]);
    unit.assert_code(2);
    assert_says(&unit.stderr, &["`5 apples` is not a rate", "such as `1G`"]);
    let taken = test(&["--name", "after"]);
    taken.assert_code(2);
    assert_says(&taken.stderr, &["after exists"]);
    let compared = bench.bitcost(&["compare", "before", "after", "--all"]);
    compared.assert_code(0);
    compared.assert_prints("before → after");
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
