//! A study compared with a variant of itself: the records of both, and what is refused.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: a_slower_variant_is_worse_and_sets_the_exit_code, a_test_is_interleaved_with_its_variant,
        gates_and_names_of_tests;
}

/// A queue that sends 10 Mbit/s: slower by construction.
const SLOW: &str = "--qdisc 'sender: tbf rate 10M burst 64KiB limit 1MiB'";

/// Both variants are in every block, and the change is reported by the run and again from the log
/// alone.
fn a_slower_variant_is_worse_and_sets_the_exit_code() {
    let bench = Bench::new();
    bench.write("small.toml", SMALL);
    let run = ["run", "small.toml", "--against", SLOW];
    let gate = split("--fail-on worse --threshold 20 --blocks 5");
    let done = bench.bitcost(&[&run[..], &gate[..]].concat()).with_code(1);
    done.assert_prints(" worse");
    done.assert_says(" worse");
    let shown = bench.bitcost(&["show", "--json", &bench.execution_name()]);
    let document = shown.with_code(0).json();
    assert_eq!(levels(&document, "options"), ["base", SLOW, "base", SLOW]);
    let comparison = &document["comparison"];
    assert_eq!(comparison["old"], "options=base");
    assert_eq!(comparison["new"], format!("options={SLOW}"));
    assert_eq!(comparison["same_blocks"], true);
    assert_eq!(comparison["cells"].as_array().unwrap().len(), 2);
    let log = bench.log();
    for block in 0..5 {
        assert_eq!(cells_of(&log, block), [0, 1, 2, 3], "block {block}");
    }
    for run in ended(&log) {
        let rate = in_effect(&run.ends[0], "qdisc.rate_bps");
        assert_eq!(rate.is_some(), run.cell % 2 == 1, "{rate:?}");
    }
    bench.assert_nothing_left();
}

/// As many blocks of both sides as fit the budget, of which one sends at a tenth of the rate in larger
/// packets, for which the lab has room.
fn a_test_is_interleaved_with_its_variant() {
    let bench = Bench::new();
    let test = ["test", "tcp", "--rate", "100M", "--mtu", "1500"];
    let against = [
        "--budget",
        "12s",
        "--against",
        "-b 10M --mtu 9000",
        "--fail-on",
        "worse",
    ];
    let done: Done = bench.bitcost(&[&test[..], &against].concat());
    assert_eq!(done.code, Some(1), "{}\n{}", done.stderr, done.stdout);
    let first = done.stdout.lines().next().unwrap_or_default();
    // Of the rate, or of the cost to send at so low a one.
    assert!(first.ends_with(": worse."), "{}", done.stdout);
    done.assert_prints("Throughput (Mbit/s)");
    let sides = "options=base → options=-b 10M --mtu 9000";
    assert_says(&one_line(&done.stdout), &[sides]);
    let log = bench.log();
    let plan = plan(&log);
    assert!(plan.blocks >= 5 && plan.total_time().as_secs() <= 12);
    for run in ended(&log) {
        let mtu = ["1500", "9000"][run.cell].to_owned();
        for end in run.ends {
            let expected = Some([mtu.clone(), mtu.clone()]);
            assert_eq!(in_effect(&end, "mtu_bytes"), expected);
        }
    }
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
