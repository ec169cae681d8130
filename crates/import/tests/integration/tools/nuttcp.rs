//! nuttcp and nttcp: lines of results, and the reports of the endpoints with `-v`.

use bitcost_import::read;
use bitcost_model::imported::ImportedInterval;

use super::{figure, fixture, found, has, number, one, word};

fn of(name: &str, intervals: &[ImportedInterval]) -> Vec<f64> {
    intervals
        .iter()
        .map(|interval| interval.figures[name])
        .collect()
}

#[test]
fn nuttcp_and_nttcp_lines() {
    let tcp = one("nuttcp/nuttcp-tcp-intervals.txt");
    assert_eq!(
        (figure(&tcp, "throughput_mbps"), figure(&tcp, "retransmits")),
        (33615.0696, 0.0)
    );
    assert_eq!(tcp.run.intervals.len(), 4);
    assert_eq!(figure(&one("nuttcp/nuttcp-udp.txt"), "loss_pct"), 0.0);
    assert_eq!(
        figure(&one("nuttcp/nuttcp-parse.txt"), "throughput_mbps"),
        23396.8219
    );
    let verbose = one("nuttcp/nuttcp-verbose.txt");
    assert!(
        figure(&verbose, "send_throughput_mbps") > 0.0 && figure(&verbose, "throughput_mbps") > 0.0
    );
    // nttcp is in no distribution at hand: the table of its manual page.
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

#[test]
fn stretches_of_every_form_are_intervals() {
    let parsed = one("nuttcp/nuttcp-parse-intervals.txt");
    assert_eq!(
        of("throughput_mbps", &parsed.run.intervals),
        [35248.4285, 49667.2482, 47738.9969]
    );
    assert_eq!(
        (word(&parsed, "brand"), figure(&parsed, "throughput_mbps")),
        ("study".into(), 45512.1660)
    );
    let lossy = one("nuttcp/nuttcp-udp-loss-intervals.txt");
    assert_eq!(of("loss_pct", &lossy.run.intervals), [17.16, 22.80, 38.16]);
    let lossy = one("nuttcp/nuttcp-udp-parse-intervals.txt");
    assert_eq!(
        of("loss_pct", &lossy.run.intervals),
        [45.13494, 53.37453, 17.11642]
    );
    assert_eq!(
        (figure(&lossy, "loss_pct"), lossy.run.intervals[2].begin_s),
        (32.91058, 0.6)
    );
    assert_eq!(word(&one("nuttcp/nuttcp-named.txt"), "brand"), "tso off");
}

#[test]
fn a_file_that_is_cut_before_its_result_is_a_run_broken_off() {
    for name in [
        "nuttcp/nuttcp-parse-intervals.txt",
        "nuttcp/nuttcp-tcp-intervals.txt",
    ] {
        let text = String::from_utf8(fixture(name)).expect("text");
        let cut = text.lines().take(2).collect::<Vec<_>>().join("\n");
        let run = &read("x", cut.as_bytes()).expect("nuttcp")[0];
        assert!(
            run.error
                .as_deref()
                .is_some_and(|error| error.contains("broken off")),
            "{name}: {run:?}"
        );
        assert_eq!(run.run.intervals.len(), 2, "{name}");
    }
}

#[test]
fn what_the_ends_say() {
    let tcp = one("nuttcp/nuttcp-verbose-intervals.txt");
    assert_eq!(
        (
            figure(&tcp, "send_throughput_mbps"),
            figure(&tcp, "throughput_mbps")
        ),
        (44189.9938, 44208.3840)
    );
    assert_eq!(
        (figure(&tcp, "retransmits"), tcp.run.intervals.len()),
        (0.0, 1)
    );
    assert_eq!(
        (word(&tcp, "protocol"), word(&tcp, "direction")),
        ("tcp".into(), "forward".into())
    );
    assert_eq!(
        (
            number(&tcp, "message_size_bytes"),
            number(&tcp, "mss_bytes")
        ),
        (65_536, 32_741)
    );
    assert_eq!(tcp.run.tool_version.as_deref(), Some("6.1.2"));
    let udp = one("nuttcp/nuttcp-verbose-udp.txt");
    assert_eq!(
        (figure(&udp, "loss_pct"), word(&udp, "protocol")),
        (0.21, "udp".into())
    );
    assert_eq!(
        (number(&udp, "rate_bps"), has(&udp, "retransmits")),
        (200_000_000, false)
    );
    let reverse = one("nuttcp/nuttcp-verbose-reverse.txt");
    assert_eq!(
        (word(&reverse, "direction"), number(&reverse, "flows")),
        ("reverse".into(), 2)
    );
}

#[test]
fn outputs_of_several_runs_in_one_file_are_runs() {
    let names = [
        "verbose-udp",
        "verbose-reverse",
        "verbose-intervals",
        "named",
        "verbose-udp",
        "tcp-intervals",
    ];
    let files = names.map(|name| fixture(&format!("nuttcp/nuttcp-{name}.txt")));
    let runs = read("x", &files.concat()).expect("nuttcp");
    let alone: Vec<f64> = names
        .iter()
        .map(|name| {
            figure(
                &found(&format!("nuttcp/nuttcp-{name}.txt"))[0],
                "throughput_mbps",
            )
        })
        .collect();
    let joined: Vec<f64> = runs
        .iter()
        .map(|run| figure(run, "throughput_mbps"))
        .collect();
    assert_eq!(joined, alone);
    let intervals: Vec<usize> = runs.iter().map(|run| run.run.intervals.len()).collect();
    assert_eq!(intervals, [0, 0, 1, 1, 0, 4]);
}
