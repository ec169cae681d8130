//! `bitcost test --format`: one run, or several of one kind, in the forms that programs and pull
//! requests use.

use serde_json::Value;

use crate::bench::{Bench, Done, split};

bitcost_testkit::trials! {
    Host: test_prints_each_format, repeated_runs_are_rows;
}

fn test(bench: &Bench, words: &[&str]) -> Done {
    let done = bench.bitcost(&[&["test", "tcp", "-O", "50ms"], words].concat());
    done.assert_code(0);
    done
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

    let html = test(&bench, &["-t", "200ms", "--format", "html"]).stdout;
    assert!(html.contains("</html>"), "{html}");
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
    bench.assert_nothing_left();
}
