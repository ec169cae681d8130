//! `bitcost test --format`: one run, or several of one kind, in the forms that programs and pull
//! requests use.

use crate::bench::*;

bitcost_testkit::trials! {
    Host: test_prints_each_format, repeated_runs_are_rows, pypi_s_iperf3_reads_iperf3_s_form,
        otava_finds_the_execution_from_which_throughput_is_lower;
}

fn test(bench: &Bench, words: &[&str]) -> Done {
    bench
        .bitcost(&[&["test", "tcp", "-O", "50ms"], words].concat())
        .with_code(0)
}

/// The fields of a line without quotes.
fn fields(line: &str) -> Vec<&str> {
    assert!(!line.contains('"'), "{line}");
    line.split(',').collect()
}

/// Standard output has the form alone; progress for people goes to standard error.
fn test_prints_each_format() {
    let bench = Bench::new();
    let csv = test(&bench, &["-t", "1100ms", "--format", "csv"]);
    let lines: Vec<&str> = csv.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", csv.stdout);
    let (names, values) = (fields(lines[0]), fields(lines[1]));
    let value = |name: &str| values[names.iter().position(|known| *known == name).expect(name)];
    assert_eq!(
        (value("test"), value("status"), value("run")),
        ("tcp", "used", "1")
    );
    assert!(
        value("throughput_mbps").parse::<f64>().unwrap() > 0.0,
        "{}",
        csv.stdout
    );
    assert!(
        csv.stderr.contains("1 s"),
        "a line each second: {}",
        csv.stderr
    );

    let stretches = test(
        &bench,
        &["-t", "300ms", "--format", "csv", "--rows", "intervals"],
    );
    let rows: Vec<&str> = stretches.stdout.lines().collect();
    assert!(
        rows[0].contains(",end,begin_s,end_s,throughput_mbps") && rows.len() > 4,
        "{}",
        stretches.stdout
    );

    let iperf3: Value = test(&bench, &["-t", "200ms", "--format", "iperf3"]).json();
    assert!(
        iperf3["end"]["sum_received"]["bits_per_second"]
            .as_f64()
            .unwrap()
            > 0.0,
        "{iperf3:#}"
    );
    let markdown = test(&bench, &["-t", "200ms", "--format", "md"]).stdout;
    assert!(
        markdown.contains("| metric | value | unit |\n| --- | --: | --- |\n| Throughput | "),
        "{markdown}"
    );
    assert!(markdown.contains("\nlimiter: "), "{markdown}");
    bench.assert_nothing_left();
}

fn repeated_runs_are_rows() {
    let bench = Bench::new();
    let twice = split("-t 200ms --until-interval 100% --repeats 2-2");
    let csv = test(&bench, &[&twice[..], &["--format", "csv"]].concat());
    assert_eq!(csv.stdout.lines().count(), 3, "{}", csv.stdout);
    let markdown = test(&bench, &[&twice[..], &["--format", "md"]].concat()).stdout;
    assert!(
        markdown.contains("| metric | median | unit |\n"),
        "{markdown}"
    );
    // The last screen has no room for the evidence.
    let text = test(&bench, &twice).stdout;
    assert!(
        text.contains("\nbottleneck   ") && !text.contains("limiter: "),
        "{text}"
    );
    bench.assert_nothing_left();
}

/// The library that scripts read results of iperf3 with.
fn pypi_s_iperf3_reads_iperf3_s_form() {
    const READ: &str = "import iperf3, sys; r = iperf3.TestResult(sys.stdin.read()); \
        print(r.protocol, r.local_host != '', (r.sent_Mbps if r.protocol == 'TCP' else r.Mbps) > 0)";
    let python = || Command::new("python3");
    let has = python()
        .args(["-c", "import iperf3; iperf3.TestResult"])
        .output();
    if has.is_err() || has.is_ok_and(|done| !done.status.success()) {
        bitcost_testkit::ignore("there is no module iperf3 here (pip install iperf3)");
    }
    let bench = Bench::new();
    for (workload, expected) in [("tcp", "TCP True True\n"), ("udp", "UDP True True\n")] {
        let words = ["test", workload, "-t", "200ms", "--format", "iperf3"];
        let done = bench.bitcost(&words);
        done.assert_code(0);
        bench.write("iperf3.json", &done.stdout);
        let file = bench.path().join("iperf3.json");
        let read = python()
            .args(["-c", READ])
            .stdin(fs::File::open(file).unwrap())
            .output();
        let read = read.unwrap();
        let said = String::from_utf8_lossy(&read.stderr);
        assert_eq!(String::from_utf8_lossy(&read.stdout), expected, "{said}");
    }
}

const RESULT: &str = include_str!("../../../import/tests/fixtures/iperf3/iperf3-tcp.json");
const PAGE: &str = include_str!("../../../../docs/howto/otava.md");
const CHANGED_AT: u64 = 5;

/// Imports results of which each began a minute after the one before, and the last three carried half
/// of the data; returns their folder.
fn import(bench: &Bench, minute: u64) -> String {
    let mut result: Value = serde_json::from_str(RESULT).unwrap();
    let began = &mut result["start"]["timestamp"]["timesecs"];
    *began = (began.as_u64().unwrap() + 60 * minute).into();
    let share = if minute < CHANGED_AT {
        100 + minute % 3
    } else {
        50
    };
    let bytes = &mut result["end"]["sum_received"]["bytes"];
    *bytes = (bytes.as_u64().unwrap() / 100 * share).into();
    bench.write("result.json", &result.to_string());
    let done = bench
        .bitcost(&["import", "result.json", "--out", &minute.to_string()])
        .with_code(0);
    done.stdout.trim().to_owned()
}

fn otava_finds_the_execution_from_which_throughput_is_lower() {
    if Command::new("otava").arg("--help").output().is_err() {
        bitcost_testkit::ignore("there is no otava here (pip install apache-otava)");
    }
    let bench = Bench::new();
    let folders: Vec<String> = (0..8).map(|minute| import(&bench, minute)).collect();
    let mut show = vec!["show", "--format", "csv"];
    show.extend(folders.iter().map(String::as_str));
    bench.write("tcp.csv", &bench.bitcost(&show).stdout);
    let config = PAGE
        .split("```")
        .find_map(|part| part.strip_prefix("yaml\n"));
    bench.write("otava.yaml", config.expect("the page has a configuration"));
    let mut otava = Command::new("otava");
    otava
        .args(["analyze", "tcp", "--output", "json"])
        .current_dir(bench.path());
    let done = otava.env("OTAVA_CONFIG", "otava.yaml").output().unwrap();
    let found: Value = serde_json::from_slice(&done.stdout).expect("JSON");
    let [point] = &found["tcp"].as_array().unwrap()[..] else {
        panic!("{found:#}")
    };
    assert_eq!(point["changes"][0]["index"], CHANGED_AT, "{found:#}");
}
