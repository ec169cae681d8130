//! Outputs of the real tools, made over loopback in a namespace, and the result of importing them.

mod iperf3;
mod netperf;
mod text;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitcost_import::{Run, read};
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::study::Label;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn found(name: &str) -> Vec<Run> {
    read(name, &fixture(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn one(name: &str) -> Run {
    let mut runs = found(name);
    assert_eq!(runs.len(), 1, "{name}");
    runs.remove(0)
}

fn figure(found: &Run, name: &str) -> f64 {
    *found
        .imported
        .figures
        .get(name)
        .unwrap_or_else(|| panic!("{}: no {name}: {found:?}", found.imported.file))
}

fn has(found: &Run, name: &str) -> bool {
    found.imported.figures.contains_key(name)
}

fn number(found: &Run, factor: &str) -> i64 {
    match found.imported.levels.get(factor) {
        Some(Label::Number(number)) => *number,
        other => panic!("{factor}: {other:?}"),
    }
}

/// All that is read of a run.
fn shown(found: &Run) -> String {
    let run = &found.imported;
    let pairs = |pairs: &BTreeMap<String, f64>| {
        let one = |(name, value): (&String, &f64)| format!("{name}={value:?}");
        pairs.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let words = |(name, value): (&String, String)| format!("{name}={value}");
    let levels = found
        .imported
        .levels
        .iter()
        .map(|(name, label)| words((name, label.to_string())));
    let mut lines = vec![
        format!("{} {:?}", run.tool, run.began_at),
        format!("levels: {}", levels.collect::<Vec<_>>().join(" ")),
        format!("figures: {}", pairs(&run.figures)),
    ];
    if let Some(level) = run.level_pct {
        lines.push(format!("widths at {level} %: {}", pairs(&run.widths_pct)));
    }
    lines.extend(run.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(found.error.iter().map(|error| format!("error: {error}")));
    lines.join("\n  ")
}

/// What is read of every file of a folder of fixtures, in the order of their names. Each figure is
/// one of our metrics.
fn all_of(folder: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(folder);
    let files = std::fs::read_dir(path).expect("fixtures");
    let mut names: Vec<_> = files
        .map(|file| file.expect("a file").file_name())
        .collect();
    names.sort();
    let mut text = String::new();
    for name in names {
        let name = name.to_str().expect("a name");
        text += &match read(name, &fixture(&format!("{folder}/{name}"))) {
            Err(error) => format!("{error}\n"),
            Ok(runs) => {
                for metric in runs.iter().flat_map(|run| run.imported.figures.keys()) {
                    let known = bitcost_analysis::metrics::metric(metric);
                    assert!(known.is_some(), "{name}: {metric}");
                }
                let runs = runs.iter().map(|run| format!("{name}: {}\n", shown(run)));
                runs.collect()
            }
        };
    }
    text
}

/// After an intended change `INSTA_UPDATE=always cargo test -p bitcost-import` writes the new text;
/// read its diff.
#[test]
fn every_file_is_read_whole() {
    for folder in ["iperf3", "netperf", "reported", "text"] {
        insta::assert_snapshot!(folder, all_of(folder));
    }
}

#[test]
fn an_error_is_a_failed_run_though_the_exit_code_was_0() {
    let failed = one("iperf3/iperf3-error.json");
    assert_eq!(
        failed.error.as_deref(),
        Some("unable to connect to server: Connection refused")
    );
    let events = bitcost_import::execution(vec![failed], head());
    assert!(events.iter().any(
        |event| matches!(event, Event::RunFailed { reason, .. } if reason.contains("refused"))
    ));
}

#[test]
fn the_papers_rows_give_their_averages() {
    let runs = found("tcp-mss-offloads-on.csv");
    for (mss, name, average) in [
        (1024, "throughput_mbps", 11_495.796_153),
        (8192, "throughput_mbps", 30_024.375_714),
        (1024, "netperf_send_service_demand_us_per_kib", 0.722_692),
        (8192, "netperf_receive_service_demand_us_per_kib", 0.210_857),
    ] {
        let of_size = runs.iter().filter(|run| number(run, "mss_bytes") == mss);
        let values: Vec<f64> = of_size.map(|run| figure(run, name)).collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean / average - 1.0).abs() < 1e-6, "{mss} {name}: {mean}");
    }
}

#[test]
fn what_is_none_of_them_is_said() {
    let said = |bytes: &[u8]| read("f", bytes).expect_err("no runs").to_string();
    assert!(said(b"").contains("f: the file is empty"));
    assert!(said(b"hello world").contains("it begins with \"hello world\""));
    assert!(said(&[0xff, 0xfd, 0]).contains("not text: byte 0 is not UTF-8"));
    assert!(said(b"\x1f\x8b\x08").starts_with("f: gzip-compressed"));
    assert!(said(b"\xff\xfe{\0").contains("unpack or convert the file first"));
    assert!(said(b"hello").contains("supported: JSON of iperf3"));
    assert!(said(&fixture("netperf/netperf-error.txt")).contains("not a supported output"));
    let cut = fixture("iperf3/iperf3-tcp.json");
    assert!(said(&cut[..cut.len() - 40]).contains("is cut or damaged"));
}

fn head() -> bitcost_import::Head<'static> {
    bitcost_import::Head {
        name: "x \"y\" \u{7f}",
        version: "0.1.0",
        at: "2026-11-21T10:00:00Z",
        command_line: Vec::new(),
    }
}

#[test]
fn an_execution_has_a_study_that_can_be_read_and_a_cell_per_combination() {
    let runs: Vec<Run> = [
        "netperf/netperf-omni.csv",
        "iperf3/iperf3-udp.json",
        "udp-size-sweep.csv",
    ]
    .iter()
    .flat_map(|f| found(f))
    .collect();
    let (study_text, plan) = planned(runs);
    let study = bitcost_study::Study::parse("x.toml", &study_text)
        .unwrap_or_else(|error| panic!("{error}\n{study_text}"));
    assert!(
        study
            .factors
            .iter()
            .any(|factor| factor.name == "message_size_bytes")
    );
    assert_eq!(plan.runs.len(), 18);
    assert!(
        plan.cells
            .iter()
            .all(|cell| cell.levels.len() == study.factors.len())
    );
}

/// Additional figures of a run are shown, and a word that is a number becomes a numeric level.
#[test]
fn background_figures_are_shown_and_equal_labels_are_one_level() {
    let mut runs = [
        found("iperf3/iperf3-tcp-bidir.json"),
        found("iperf3/iperf3-udp.json"),
    ]
    .concat();
    for (run, label) in runs
        .iter_mut()
        .zip([Label::Number(5), Label::Text("5".into())])
    {
        run.imported.levels = [("brand".to_owned(), label)].into();
        run.imported.tool = "x".into();
    }
    let (study_text, plan) = planned(runs);
    for metric in ["background_throughput_mbps", "jitter_us"] {
        assert!(study_text.contains(metric), "{metric}: {study_text}");
    }
    assert_eq!((plan.cells.len(), plan.blocks), (1, 2));
}

/// nttcp is in no distribution at hand: the table of its manual page.
#[test]
fn nttcp_has_a_line_for_each_endpoint() {
    let nttcp = "     Bytes  Real s   CPU s Real-MBit/s  CPU-MBit/s   Calls  Real-C/s   CPU-C/s\n\
        l  8388608    0.75    0.02     89.4778   3355.4432    2048   2730.67  102400.00\n\
        1  8388608    0.75    0.05     89.4778   1342.1773    5793   7724.00  115860.00\n";
    let run = &read("x", nttcp.as_bytes()).expect("nttcp")[0];
    assert_eq!(
        (
            figure(run, "send_throughput_mbps"),
            figure(run, "throughput_mbps")
        ),
        (89.4778, 89.4778)
    );
}

/// The study and the plan of an execution of these runs.
fn planned(runs: Vec<Run>) -> (String, Plan) {
    match &bitcost_import::execution(runs, head())[..2] {
        [
            Event::ExecutionBegan { study_text, .. },
            Event::Planned { plan },
        ] => (study_text.clone(), plan.clone()),
        others => panic!("{others:?}"),
    }
}

/// The cells of these files' runs, by their factors and labels, with the number of runs.
fn cells(files: &[&str]) -> Vec<(String, usize)> {
    let (_, plan) = planned(files.iter().flat_map(|file| found(file)).collect());
    let name = |(name, label): &(String, Label)| format!("{name}={label}");
    let cells = plan.cells.iter().enumerate().map(|(at, cell)| {
        let levels: Vec<String> = cell.levels.iter().map(name).collect();
        let runs = plan.runs.iter().filter(|run| run.cell == at).count();
        (levels.join(" "), runs)
    });
    cells.collect()
}

#[test]
fn runs_of_other_hosts_and_files_are_other_cells() {
    let [a, b] = ["reported/host-a.10g.json", "reported/host-b.wan.json"];
    let hosts = cells(&[a, b]);
    assert_eq!(hosts.len(), 2, "{hosts:?}");
    assert!(hosts[0].0.contains("receiver=10.0.0.2"), "{hosts:?}");
    let files = cells(&["reported/ctrl-c.json", "reported/escape.json"]);
    assert!(
        files.len() == 2 && files[0].0.contains("file=reported/ctrl-c"),
        "{files:?}"
    );
    assert_eq!(
        cells(&[a, a]),
        [(
            "tool=iperf3 protocol=tcp message_size_bytes=131072 flows=1".to_owned(),
            2
        )]
    );
}

#[test]
fn files_of_a_name_in_other_folders_are_other_cells() {
    let of = |files: &[&str]| {
        let text = fixture("reported/ctrl-c.json");
        let runs = files.iter().flat_map(|file| read(file, &text).expect(file));
        let (_, plan) = planned(runs.collect());
        let label = |(name, label): &(String, Label)| (name == "file").then(|| label.to_string());
        let labels = plan.cells.iter().flat_map(|cell| &cell.levels);
        labels.filter_map(label).collect::<Vec<_>>()
    };
    for (files, expected) in [
        (
            ["before/tcp.json", "after/tcp.json"],
            &["before/tcp", "after/tcp"][..],
        ),
        (["before/1.json", "after/1.json"], &["before", "after"]),
        (["1.json", "before.json"], &["not said", "before"]),
        (["run-1/tcp.json", "run-2/tcp.json"], &[]),
    ] {
        assert_eq!(of(&files), expected, "{files:?}");
    }
}

#[test]
fn a_file_of_too_many_runs_is_refused() {
    for text in [r#"{"start":{},"end":{}}"#, "TCP STREAM TEST from a to b\n"] {
        let error = read("x", text.repeat(10_001).as_bytes()).expect_err("too many");
        assert!(
            error.to_string().contains("more than 10000 runs"),
            "{error}"
        );
    }
}

#[test]
fn a_document_twice_is_one_run() {
    let text = fixture("iperf3/iperf3-tcp.json");
    let runs = ["a.json", "b.json"].map(|file| read(file, &text).expect(file));
    let events = bitcost_import::execution(runs.concat(), head());
    let is_run = |event: &&Event| matches!(event, Event::RunImported { .. });
    assert_eq!(events.iter().filter(is_run).count(), 1);
}

/// Both ends of one test are one run.
#[test]
fn documents_of_one_cookie_are_the_two_ends_of_a_test() {
    let server = String::from_utf8(fixture("iperf3/iperf3-server-udp.json")).expect("text");
    let client = String::from_utf8(fixture("iperf3/iperf3-udp.json")).expect("text");
    let cookie = |text: &str| {
        let document: serde_json::Value = serde_json::from_str(text).expect("JSON");
        document["start"]["cookie"]
            .as_str()
            .expect("a cookie")
            .to_owned()
    };
    let server = server.replace(&cookie(&server), &cookie(&client));
    let both = [("server.json", server), ("client.json", client)];
    let runs = both
        .iter()
        .flat_map(|(name, text)| read(name, text.as_bytes()).expect(name));
    let events = bitcost_import::execution(runs.collect(), head());
    let runs: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::RunImported { imported, .. } => Some(imported),
            _ => None,
        })
        .collect();
    let [run] = &runs[..] else { panic!("{runs:?}") };
    assert_eq!(run.file, "client.json");
    assert!(
        run.notes
            .iter()
            .any(|note| note.contains("server.json is the other end"))
    );
    let of_both = ["sender_process_cpu_pct", "receiver_process_cpu_pct"];
    assert!(of_both.iter().all(|name| run.figures.contains_key(*name)));
}

#[test]
fn what_cannot_be_is_absent_with_a_note() {
    let document = |end: &str| {
        let text = format!(r#"{{"start":{{}},"end":{{{end}}}}}"#);
        read("x", text.as_bytes()).expect("a document").remove(0)
    };
    let sums = |retransmits: &str, received: u32| {
        format!(
            r#""sum_sent":{{"end":1,"bytes":1000000,"retransmits":{retransmits}}},"sum_received":{{"end":1,"bytes":{received}}}"#
        )
    };
    for (end, absent) in [
        (sums("4294967290", 990_000), "retransmits"),
        (sums("1", 2_000_000), "throughput_mbps"),
        (sums("1", 2_000_000), "send_throughput_mbps"),
    ] {
        let run = document(&end);
        assert!(!has(&run, absent), "{run:?}");
        assert!(run.imported.notes[0].contains("impossible"), "{run:?}");
    }
    assert!(!has(&document(&sums("-6", 990_000)), "retransmits"));
}
