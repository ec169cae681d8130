//! Outputs of the real tools, made over loopback in a namespace, and the result of importing them.

mod iperf3;
mod netperf;

use std::collections::BTreeMap;
use std::path::PathBuf;

use bitcost_import::{Found, ImportError, read};
use bitcost_model::event::Event;
use bitcost_model::imported::ImportedInterval;
use bitcost_model::study::Label;

fn fixture(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn found(name: &str) -> Vec<Found> {
    read(name, &fixture(name)).unwrap_or_else(|error| panic!("{error}"))
}

fn one(name: &str) -> Found {
    let mut runs = found(name);
    assert_eq!(runs.len(), 1, "{name}");
    runs.remove(0)
}

fn figure(found: &Found, name: &str) -> f64 {
    *found
        .run
        .figures
        .get(name)
        .unwrap_or_else(|| panic!("{}: no {name}: {found:?}", found.run.file))
}

fn has(found: &Found, name: &str) -> bool {
    found.run.figures.contains_key(name)
}

fn number(found: &Found, factor: &str) -> i64 {
    match found.levels.get(factor) {
        Some(Label::Number(number)) => *number,
        other => panic!("{factor}: {other:?}"),
    }
}

/// All that is read of a run; of its intervals the first three, and how many there are.
fn shown(found: &Found) -> String {
    let run = &found.run;
    let pairs = |pairs: &BTreeMap<String, f64>| {
        let one = |(name, value): (&String, &f64)| format!("{name}={value:?}");
        pairs.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    let words = |(name, value): (&String, String)| format!("{name}={value}");
    let levels = found
        .levels
        .iter()
        .map(|(name, label)| words((name, label.to_string())));
    let facts = run
        .facts
        .iter()
        .map(|(name, fact)| words((name, fact.clone())));
    let mut lines = vec![
        format!(
            "{} {:?} {:?} {:?}",
            run.tool, run.tool_version, run.place, run.began_at
        ),
        format!("levels: {}", levels.collect::<Vec<_>>().join(" ")),
        format!("figures: {}", pairs(&run.figures)),
        format!("facts: {}", facts.collect::<Vec<_>>().join(" ")),
    ];
    lines.extend(run.notes.iter().map(|note| format!("note: {note}")));
    lines.extend(found.error.iter().map(|error| format!("error: {error}")));
    let interval = |interval: &ImportedInterval| {
        let (end, begin_s, end_s) = (interval.end, interval.begin_s, interval.end_s);
        format!(
            "{end:?} {begin_s} to {end_s} s: {}",
            pairs(&interval.figures)
        )
    };
    lines.extend(run.intervals.iter().take(3).map(interval));
    lines.push(format!("{} intervals", run.intervals.len()));
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
                for metric in runs.iter().flat_map(|run| run.run.figures.keys()) {
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
    for folder in ["iperf3", "netperf"] {
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
    for (bytes, words) in [
        (&b"\xfd7zXZ\0\0\0"[..], "f: xz-compressed: unpack it first"),
        (b"\x28\xb5\x2f\xfd\x24", "f: zstd-compressed"),
        (b"BZh91AY", "f: bzip2-compressed"),
        (b"\x1f\x8b\x08", "f: gzip-compressed"),
        (b"\xff\xfe{\0", "f: text in UTF-16"),
        (b"{\0\"\0s\0t\0a\0r\0t\0\"\0", "f: text in UTF-16"),
    ] {
        assert!(said(bytes).starts_with(words), "{}", said(bytes));
    }
    assert!(bitcost_import::known().contains("iperf3"));
    assert!(said(&fixture("netperf/netperf-error.txt")).contains("not a supported output"));
    let cut = fixture("iperf3/iperf3-tcp.json");
    let error = read("f", &cut[..cut.len() - 40]).expect_err("cut");
    assert!(matches!(
        error,
        ImportError::Broken {
            format: "iperf3 (JSON)",
            ..
        }
    ));
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
    let runs: Vec<Found> = [
        "netperf/netperf-omni.csv",
        "iperf3/iperf3-udp.json",
        "udp-size-sweep.csv",
    ]
    .iter()
    .flat_map(|f| found(f))
    .collect();
    let events = bitcost_import::execution(runs, head());
    let Event::ExecutionBegan { study_text, .. } = &events[0] else {
        panic!("{:?}", events[0])
    };
    let study = bitcost_study::Study::parse("x.toml", study_text)
        .unwrap_or_else(|error| panic!("{error}\n{study_text}"));
    assert!(
        study
            .factors
            .iter()
            .any(|factor| factor.name == "message_size_bytes")
    );
    let Event::Planned { plan } = &events[1] else {
        panic!("{:?}", events[1])
    };
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
        run.levels = [("brand".to_owned(), label)].into();
        run.run.tool = "x".into();
    }
    let events = bitcost_import::execution(runs, head());
    let Event::ExecutionBegan { study_text, .. } = &events[0] else {
        panic!("{:?}", events[0])
    };
    for metric in ["background_throughput_mbps", "jitter_us"] {
        assert!(study_text.contains(metric), "{metric}: {study_text}");
    }
    let Event::Planned { plan } = &events[1] else {
        panic!("{:?}", events[1])
    };
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
    assert!((figure(run, "sender_thread_cpu_us_per_kib") - 0.02e6 / 8192.0).abs() < 1e-9);
}
