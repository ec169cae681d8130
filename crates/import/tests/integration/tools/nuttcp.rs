//! nuttcp and nttcp: lines of results, and the reports of the endpoints with `-v`.

use bitcost_import::read;

use super::{figure, fixture, found};

#[test]
fn nttcp_lines() {
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
