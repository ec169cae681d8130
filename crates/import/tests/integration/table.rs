//! Tables of other programs, and the errors for texts that are not tables.

use bitcost_import::read_table;

const RANDOM: &str = include_str!("../fixtures/udp-random-sizes.csv");

#[test]
fn every_line_is_a_run_with_our_names() {
    let runs = read_table(RANDOM).expect("a table");
    assert_eq!(runs.len(), 20);
    let lossy = &runs[1];
    assert_eq!((lossy.line, lossy.message_size_bytes), (3, Some(8192)));
    assert_eq!(lossy.figures["throughput_mbps"], 21_091.06);
    assert_eq!(lossy.figures["receiver_peak_cpu_pct"], 100.0);
    assert_eq!(
        lossy.figures["netperf_receive_service_demand_us_per_kib"],
        0.516
    );
    assert!(
        (lossy.figures["loss_pct"] - 14.698).abs() < 0.001,
        "{lossy:?}"
    );
    assert_eq!(runs[0].figures["loss_pct"], 0.0);
    for other in ["udp-size-sweep", "udp-constant-rate", "tcp-mss-offloads-on"] {
        let path = format!("{}/tests/fixtures/{other}.csv", env!("CARGO_MANIFEST_DIR"));
        let runs = read_table(&std::fs::read_to_string(path).expect("a fixture")).expect("a table");
        assert!(
            runs.iter()
                .all(|run| run.size_bytes().is_some() && !run.figures.is_empty()),
            "{other}"
        );
    }
}

#[test]
fn what_is_not_said_is_absent() {
    let text = "transport_mss,throughput,local_cpu_util,mood\n1024, 9.5 ,,good\n";
    let runs = read_table(text).expect("a table");
    assert_eq!(runs[0].segment_size_bytes, Some(1024));
    assert_eq!(
        runs[0].figures.keys().copied().collect::<Vec<_>>(),
        ["throughput_mbps"]
    );
}
