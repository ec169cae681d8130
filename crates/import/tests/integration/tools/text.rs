//! Texts of iperf 2, iperf3 and nuttcp as their versions print them.

use bitcost_import::{Run, read};

use super::figure;

fn runs(text: &str) -> Vec<Run> {
    read("x.txt", text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

const OLD_SERVER: &str = "Accepted connection from 10.0.0.1, port 40000
[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40002
[  5]   0.00-1.00   sec   110 MBytes   923 Mbits/sec
[  5]   1.00-2.00   sec   112 MBytes   941 Mbits/sec
";
const CLIENT: &str = "Connecting to host 10.0.0.2, port 5201
[  4] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201
[  4]   0.00-1.00   sec   110 MBytes   923 Mbits/sec    0    300 KBytes
[  4]   1.00-2.00   sec   112 MBytes   941 Mbits/sec    0    300 KBytes
";
const UDP_SERVER: &str = "Accepted connection from 10.0.0.1, port 40000
[  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40002
[  5]   0.00-1.00   sec  12.0 MBytes   100 Mbits/sec  0.080 ms  0/22823 (0%)
[  5]   1.00-2.00   sec  12.0 MBytes   100 Mbits/sec  0.080 ms  0/22823 (0%)
[  5]   0.00-2.04   sec  0.00 Bytes  0.00 bits/sec  0.080 ms  0/45646 (0%)
";
const UDP_CLIENT: &str = "Connecting to host 10.0.0.2, port 5201
[  4] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201
[  4]   0.00-1.00   sec  11.9 MBytes   100 Mbits/sec  8544
[  4]   1.00-2.00   sec  11.9 MBytes   100 Mbits/sec  8544
[  4]   0.00-2.00   sec  23.8 MBytes   100 Mbits/sec  0.120 ms  8544/17088 (50%)
[  4] Sent 17088 datagrams
";
const DUAL: &str = "Server listening on TCP port 5001
Client connecting to 10.0.0.2, TCP port 5001
[  5] local 10.0.0.1 port 46498 connected with 10.0.0.2 port 5001
[  4] local 10.0.0.1 port 5001 connected with 10.0.0.2 port 33640
[  5]  0.0-10.0 sec  1.00 GBytes   859 Mbits/sec
[  4]  0.0-10.0 sec   500 MBytes   419 Mbits/sec
";
const TRADEOFF: &str = "Client connecting to 10.0.0.2, TCP port 5001
[  4] local 10.0.0.1 port 46498 connected with 10.0.0.2 port 5001
[  4]  0.0-10.0 sec  1.00 GBytes   859 Mbits/sec
[  5] local 10.0.0.1 port 5001 connected with 10.0.0.2 port 33640
[  5]  0.0-10.0 sec   500 MBytes   419 Mbits/sec
";
const FULL_DUPLEX: &str = "Client connecting to 10.0.0.2, TCP port 5001
[  1] local 10.0.0.1 port 46498 connected with 10.0.0.2 port 5001 (full-duplex)
[  1] 0.0000-10.0000 sec  1.00 GBytes   859 Mbits/sec
[FD1] 0.0000-10.0000 sec  1.50 GBytes  1.29 Gbits/sec
";
const ONE_INTERVAL: &str = "Client connecting to 10.0.0.2, TCP port 5001
[  3] local 10.0.0.1 port 46498 connected with 10.0.0.2 port 5001
[  3]  0.0-10.0 sec  1.00 GBytes   859 Mbits/sec
[  3]  0.0-10.0 sec  1.00 GBytes   858 Mbits/sec
";

/// The figure that each text has, which is one run unless it has more directions in a row.
#[test]
fn what_versions_print_is_read_as_it_was_meant() {
    let total = |text: &str, rows: [&str; 2]| {
        let row = |row: &&str| format!("[  5]   0.00-2.04   sec  {row}\n");
        text.to_owned() + &rows.iter().map(row).collect::<String>()
    };
    let client = |rows| total(&CLIENT.replace("[  4]", "[  5]"), rows);
    let zero = "0.00 Bytes  0.00 bits/sec";
    let moved = "222 MBytes   932 Mbits/sec";
    let [sender, receiver] = ["sender", "receiver"].map(|end| format!("{zero}  {end}"));
    let [sent, received] = ["sender", "receiver"].map(|end| format!("{moved}  {end}"));
    let lost = total(
        "",
        [
            "12.0 MBytes  100 Mbits/sec  0.000 ms  0/100 (0%)  sender",
            "0.00 Bytes  0.00 bits/sec  0.000 ms  100/100 (100%)  receiver",
        ],
    );
    for (text, expected) in [
        (
            &*total(OLD_SERVER, [&sender, &received]),
            "iperf3 forward throughput_mbps 932.0",
        ),
        (
            &total(OLD_SERVER, [&sent, &receiver]),
            "iperf3 reverse send_throughput_mbps 932.0",
        ),
        (
            &client([&sent, &receiver]),
            "iperf3 forward throughput_mbps 932.0",
        ),
        (&lost, "iperf3 forward throughput_mbps 0.0"),
        (UDP_CLIENT, "iperf3 forward throughput_mbps 50.0"),
        (UDP_CLIENT, "iperf3 forward send_throughput_mbps 100.0"),
        (UDP_CLIENT, "iperf3 forward loss_pct 50.0"),
        (DUAL, "iperf both throughput_mbps 859.0"),
        (DUAL, "iperf both background_throughput_mbps 419.0"),
        (TRADEOFF, "iperf reverse throughput_mbps 419.0"),
        (FULL_DUPLEX, "iperf forward throughput_mbps 859.0"),
        (ONE_INTERVAL, "iperf forward throughput_mbps 858.0"),
    ] {
        let words: Vec<&str> = expected.split(' ').collect();
        let runs = runs(text);
        assert_eq!(
            runs.len(),
            1 + usize::from(text == TRADEOFF),
            "{text}{runs:?}"
        );
        let run = &runs[runs.len() - 1];
        assert_eq!(run.error, None, "{text}");
        let direction = run.imported.levels["direction"].to_string();
        assert_eq!(
            [run.imported.tool.as_str(), &direction],
            words[..2],
            "{text}"
        );
        let value: f64 = words[3].parse().expect("a number");
        assert!(
            (figure(run, words[2]) - value).abs() < 0.01,
            "{text}{run:?}"
        );
    }
}

#[test]
fn a_prefix_of_each_line_changes_nothing() {
    let text = "Connecting to host 10.0.0.2, port 5201
Reverse mode, remote host 10.0.0.2 is sending
[  5] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201
[  5]   0.00-2.00   sec   222 MBytes   932 Mbits/sec    3    sender
[  5]   0.00-2.00   sec   222 MBytes   931 Mbits/sec         receiver
CPU Utilization: local/receiver 12.5% (1.0%u/11.5%s), remote/sender 7.5% (0.5%u/7.0%s)
iperf3: error - control socket has closed unexpectedly
";
    let plain = runs(text);
    assert!(plain[0].error.is_some() && plain[0].imported.figures.len() == 5);
    for prefix in ["Fri Nov 27 14:48:45 2026 ", "before:  "] {
        let lines = text.lines().map(|line| format!("{prefix}{line}\n"));
        assert_eq!(runs(&lines.collect::<String>()), plain);
    }
}

#[test]
fn a_test_without_its_total_failed() {
    let one: String = CLIENT
        .lines()
        .take(3)
        .map(|line| format!("{line}\n"))
        .collect();
    // The first interval was lost.
    let late: String = CLIENT.replace(one.lines().last().expect("a line"), "");
    for text in [CLIENT, &one, &late] {
        let runs = runs(&format!("{text}{UDP_CLIENT}"));
        assert_eq!(runs.len(), 2, "{runs:?}");
        let error = runs[0].error.as_deref();
        assert_eq!(error, Some("no total: the test did not finish"));
    }
}

/// Version 3.1 has totals of 0 for what it does not know.
#[test]
fn a_test_with_totals_of_0_failed() {
    let zero = "[  4]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec ";
    let client = format!("{CLIENT}{zero} sender\n{zero} receiver\n");
    for text in [UDP_SERVER, &client] {
        let error = runs(text)[0].error.clone().unwrap_or_default();
        assert!(error.contains("its totals are 0"), "{error}");
    }
}

#[test]
fn a_server_does_not_know_the_clients_cpu() {
    let text = format!(
        "{OLD_SERVER}[  5]   0.00-2.04   sec   222 MBytes   932 Mbits/sec   receiver
CPU Utilization: local/receiver 12.5% (1.0%u/11.5%s), remote/sender 0.0% (0.0%u/0.0%s)\n"
    );
    let run = &runs(&text)[0];
    assert_eq!(figure(run, "receiver_process_cpu_pct"), 12.5);
    assert!(!super::has(run, "sender_process_cpu_pct"), "{run:?}");
}
