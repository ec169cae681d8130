//! netperf: human-readable tables, CSV, selectors and values.

use bitcost_import::{Found, read};
use bitcost_model::record::Role;
use bitcost_model::study::Label;

use super::{figure, found, has, number, one, word};

fn noted(found: &Found, words: &str) -> bool {
    found.run.notes.iter().any(|note| note.contains(words))
}

fn seconds(found: &Found) -> f64 {
    found
        .run
        .intervals
        .iter()
        .map(|interval| interval.end_s - interval.begin_s)
        .sum()
}

#[test]
fn netperf_tables_for_people() {
    let plain = one("netperf/netperf-tcp-stream.txt");
    assert_eq!(figure(&plain, "throughput_mbps"), 12896.59);
    assert_eq!(number(&plain, "message_size_bytes"), 16384);
    assert_eq!(plain.run.figures.len(), 1, "nothing else was measured");
    let cpu = one("netperf/netperf-tcp-stream-cpu.txt");
    assert_eq!(
        figure(&cpu, "netperf_send_service_demand_us_per_kib"),
        2.110
    );
    let udp = one("netperf/netperf-udp-stream-cpu.txt");
    assert_eq!(
        (
            figure(&udp, "send_throughput_mbps"),
            figure(&udp, "throughput_mbps")
        ),
        (2721.7, 284.8)
    );
    assert!((figure(&udp, "loss_pct") - 100.0 * (1.0 - 35_147.0 / 335_885.0)).abs() < 1e-9);
    let rr = one("netperf/netperf-tcp-rr-cpu.txt");
    assert_eq!(
        (
            figure(&rr, "transactions_per_second"),
            number(&rr, "request_size_bytes")
        ),
        (93409.36, 1)
    );
    assert_eq!(
        figure(
            &one("netperf/netperf-tcp-crr.txt"),
            "transactions_per_second"
        ),
        21001.19
    );
    assert_eq!(
        figure(&one("netperf/netperf-tcp-maerts.txt"), "throughput_mbps"),
        20610.21
    );
}

#[test]
fn netperf_omni_in_its_three_forms() {
    let columns = one("netperf/netperf-omni-columns.txt");
    assert_eq!(
        (
            figure(&columns, "send_throughput_mbps"),
            figure(&columns, "throughput_mbps")
        ),
        (3296.95, 542.97)
    );
    assert_eq!(
        figure(&columns, "netperf_receive_service_demand_us_per_kib"),
        4.969
    );
    let csv = found("netperf/netperf-omni.csv");
    let sizes: Vec<i64> = csv
        .iter()
        .map(|run| number(run, "message_size_bytes"))
        .collect();
    assert_eq!(sizes, [1024, 8192, 1024]);
    assert_eq!(figure(&csv[1], "throughput_mbps"), 4437.74);
    assert!(
        !csv[0].run.figures.contains_key("retransmits"),
        "-1 is not measured"
    );
    let branded = found("netperf/netperf-omni-p0.csv");
    assert_eq!(branded.len(), 2);
    assert_eq!(
        branded[1].levels["brand"],
        Label::Text("offloads on".into())
    );
    let keyval = one("netperf/netperf-keyval.txt");
    assert_eq!(
        (
            figure(&keyval, "throughput_mbps"),
            number(&keyval, "mss_bytes")
        ),
        (10969.01, 65483)
    );
    let rr = one("netperf/netperf-keyval-rr.txt");
    assert_eq!(
        (
            figure(&rr, "latency_p99_us"),
            figure(&rr, "transactions_per_second")
        ),
        (10.0, 88903.288)
    );
}

#[test]
fn every_form_of_the_default_output_is_a_run() {
    for name in [
        "netperf-omni.txt",
        "netperf-omni-default.csv",
        "netperf-columns-all.txt",
        "netperf-keyval-every.txt",
    ] {
        let run = one(&format!("netperf/{name}"));
        assert!(
            run.error.is_none() && figure(&run, "throughput_mbps") > 1000.0,
            "{name}: {run:?}"
        );
        assert_eq!(number(&run, "message_size_bytes"), 16_384, "{name}");
        assert!(!noted(&run, "left out"), "{name}");
    }
    for name in [
        "netperf-rr-default.csv",
        "netperf-all.csv",
        "netperf-two-columns.csv",
        "netperf-rr-throughputs.csv",
    ] {
        let run = one(&format!("netperf/{name}"));
        assert!(
            figure(&run, "transactions_per_second") > 10_000.0,
            "{name}: {run:?}"
        );
    }
    assert!(figure(&one("netperf/netperf-one-column.csv"), "throughput_mbps") > 1000.0);
    let joined = [
        "netperf-omni-default.csv",
        "netperf-rr-default.csv",
        "netperf-all.csv",
        "netperf-one-column.csv",
    ]
    .map(|name| String::from_utf8(super::fixture(&format!("netperf/{name}"))).expect("text"));
    let runs = read("x", joined.concat().as_bytes()).expect("four outputs");
    assert_eq!(runs.len(), 4);
    assert!(
        runs.iter()
            .all(|run| !run.run.figures.is_empty() && !noted(run, "left out"))
    );
}

#[test]
fn a_rate_whose_units_are_not_told_says_so() {
    assert!(noted(
        &one("netperf/netperf-one-column.csv"),
        "netperf's own were taken (10^6bits/s)"
    ));
    assert!(noted(
        &one("netperf/netperf-two-columns.csv"),
        "netperf's own were taken (Trans/s)"
    ));
    assert!(!noted(
        &one("netperf/netperf-omni-default.csv"),
        "were taken"
    ));
}

#[test]
fn one_number_is_what_the_banner_makes_it() {
    assert!(figure(&one("netperf/netperf-bare.txt"), "throughput_mbps") > 1000.0);
    assert!(
        figure(
            &one("netperf/netperf-bare-rr.txt"),
            "transactions_per_second"
        ) > 1000.0
    );
    let demand = one("netperf/netperf-bare-cpu.txt");
    assert!(
        demand.run.figures.is_empty()
            && demand
                .error
                .as_deref()
                .is_some_and(|error| error.contains("not of which"))
    );
    let bare =
        read("f", &super::fixture("netperf/netperf-bare-unnamed.txt")).expect_err("numbers alone");
    assert!(
        bare.to_string()
            .contains("f: numbers alone, as netperf prints them with -P 0"),
        "{bare}"
    );
}

/// Measured with `-c` alone: CPU of netperf's local endpoint, which receives.
#[test]
fn the_own_end_receives_where_data_comes_from_the_other() {
    for name in [
        "netperf-tcp-maerts-cpu.txt",
        "netperf-keyval-maerts.txt",
        "netperf-omni-receive.txt",
    ] {
        let run = one(&format!("netperf/{name}"));
        assert_eq!(figure(&run, "receiver_cpu_util_pct"), 100.0, "{name}");
        assert!(
            figure(&run, "netperf_receive_service_demand_us_per_kib") > 0.1,
            "{name}"
        );
        assert!(!has(&run, "sender_cpu_util_pct"), "{name}: {run:?}");
        assert_eq!(word(&run, "direction"), "reverse", "{name}");
        assert_eq!(number(&run, "message_size_bytes"), 16_384, "{name}");
    }
}

#[test]
fn what_a_stream_does_not_measure_is_absent() {
    let every = one("netperf/netperf-keyval-every.txt");
    for name in [
        "transactions_per_second",
        "receiver_peak_cpu_pct",
        "latency_p99_us",
        "loss_pct",
        "sender_cpu_util_pct",
    ] {
        assert!(!has(&every, name), "{name}");
    }
    assert!(has(&every, "retransmits") && number(&every, "mss_bytes") > 0);
    assert_eq!(word(&every, "congestion_control"), "bbr");
    assert_eq!(
        (word(&every, "direction"), word(&every, "protocol")),
        ("forward".into(), "tcp".into()),
        "as iperf3 has it"
    );
    let all = one("netperf/netperf-all.csv");
    assert!(figure(&all, "latency_p99_us") > 0.0 && !has(&all, "receiver_peak_cpu_pct"));
}

#[test]
fn rates_of_the_ends_are_bits_where_the_test_counts_transactions() {
    let run = one("netperf/netperf-rr-throughputs.csv");
    let (transactions, rate) = (
        figure(&run, "transactions_per_second"),
        figure(&run, "throughput_mbps"),
    );
    assert!(
        (transactions * 8.0 / 1e6 - rate).abs() < 0.01,
        "{transactions} of 1 B: {rate}"
    );
    let bits = one("netperf/netperf-rr-bits.txt");
    assert!(
        (figure(&bits, "transactions_per_second") - 1628.52e6 / 8.0 / 1100.0).abs() < 1e-6
            && noted(&bits, "bits per")
    );
}

#[test]
fn several_outputs_of_selectors_each_have_their_banner() {
    let runs = found("netperf/netperf-keyval-two.txt");
    assert_eq!(runs.len(), 2);
    assert_eq!(
        (word(&runs[0], "test"), word(&runs[1], "test")),
        ("tcp_stream".into(), "omni_rr".into())
    );
    assert_eq!(
        word(&runs[0], "brand"),
        "off on",
        "without the quotes that CSV has not"
    );
    assert_eq!(
        (
            word(&runs[0], "nodelay"),
            word(&runs[0], "congestion_control")
        ),
        ("on".into(), "reno".into())
    );
    assert!(!runs[1].levels.contains_key("nodelay"));
}

#[test]
fn results_while_a_test_goes_on_are_intervals() {
    for name in [
        "netperf-interim.txt",
        "netperf-interim-keyval.txt",
        "netperf-interim.csv",
    ] {
        let run = one(&format!("netperf/{name}"));
        assert!(
            run.run.intervals.len() >= 2 && (1.5..2.5).contains(&seconds(&run)),
            "{name}: {run:?}"
        );
        let first = &run.run.intervals[0];
        assert!(
            first.figures["throughput_mbps"] > 1000.0
                && first.begin_s < 1e-6
                && first.end == Role::Sender,
            "{name}"
        );
        assert!(
            figure(&run, "throughput_mbps") > 1000.0 && !noted(&run, "left out"),
            "{name}"
        );
    }
    let rr = one("netperf/netperf-interim-rr.txt");
    assert!(
        rr.run
            .intervals
            .iter()
            .all(|interval| interval.figures["messages_per_second"] > 1000.0)
    );
}

#[test]
fn a_confidence_that_was_not_achieved_is_a_note() {
    let run = one("netperf/netperf-confidence.txt");
    assert!(
        noted(
            &run,
            "did not achieve the confidence that was asked for: widths Throughput 13.218%, Local CPU"
        ),
        "{run:?}"
    );
    assert_eq!(figure(&run, "throughput_mbps"), 36_243.92);
}

#[test]
fn units_hold_however_columns_are_written() {
    let run = |text: &str| read("x", text.as_bytes()).expect("a table").remove(0);
    let giga = run("local_send_size,throughput,throughput_units\n1024,9.41,10^9bits/s\n");
    assert_eq!(figure(&giga, "throughput_mbps"), 9410.0);
    let asked = run("request_size,throughput,throughput_units\n1,5000,Trans/s\n");
    assert!(figure(&asked, "transactions_per_second") == 5000.0 && !has(&asked, "throughput_mbps"));
    let demand = run(
        "local_send_size,throughput,throughput_units,local_sd,sd_units\n1024,1,10^6bits/s,7,usec/Tran\n",
    );
    assert!(!has(&demand, "netperf_send_service_demand_us_per_kib"));
    let own = run("transport_mss,throughput_mbps,local_sd_us_per_kib,mood\n1024,9.5,0.7,good\n");
    assert_eq!(
        (
            figure(&own, "throughput_mbps"),
            figure(&own, "netperf_send_service_demand_us_per_kib")
        ),
        (9.5, 0.7)
    );
    assert_eq!(own.run.facts["mood"], "good");
}

#[test]
fn only_datagrams_are_lost() {
    let run = |text: &str| read("x", text.as_bytes()).expect("a table").remove(0);
    let columns = "local_send_throughput_mbps,remote_recv_throughput_mbps";
    assert_eq!(
        figure(
            &run(&format!("local_send_size,{columns}\n64,100,75\n")),
            "loss_pct"
        ),
        25.0
    );
    assert_eq!(
        figure(
            &run(&format!(
                "local_send_size,protocol,{columns}\n64,UDP,100,75\n"
            )),
            "loss_pct"
        ),
        25.0
    );
    assert!(!has(
        &run(&format!(
            "local_send_size,protocol,{columns}\n64,TCP,100,90\n"
        )),
        "loss_pct"
    ));
    assert!(!has(
        &run(&format!("transport_mss,{columns}\n64,100,90\n")),
        "loss_pct"
    ));
}

#[test]
fn a_bad_number_is_named_with_its_place() {
    let said = |text: &str| {
        read("f", text.as_bytes())
            .expect_err("no table")
            .to_string()
    };
    let text = "local_send_size,throughput_mbps\r\n64,100\r\n64,fast\r\n";
    assert!(
        said(text).contains("line 3, column `throughput_mbps`: `fast` is not a number"),
        "{}",
        said(text)
    );
    assert!(
        said("local_send_size,throughput_mbps\n64\n")
            .contains("lines have not as many values as its header: 2")
    );
    let table = one("netperf/netperf-tcp-stream.txt");
    let broken = super::fixture("netperf/netperf-tcp-stream.txt");
    let broken = String::from_utf8(broken)
        .expect("text")
        .replace("12896.59", "-1.00");
    let run = &read("x", broken.as_bytes()).expect("a table")[0];
    assert!(
        has(&table, "throughput_mbps") && !has(run, "throughput_mbps"),
        "-1 is not measured"
    );
}
