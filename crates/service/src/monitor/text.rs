//! The counts in Prometheus's text format 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>).

use std::fmt::{Display, Write as _};
use std::time::UNIX_EPOCH;

use crate::monitor::counts::{Counts, Last, Queue, Told, Totals};

/// The media type of the format.
pub const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

type OfService = (&'static str, &'static str, fn(&Totals) -> u64);

const OF_SERVICES: [OfService; 4] = [
    (
        "bitcost_received_bytes_total",
        "Bytes of user data received in tests",
        |totals| totals.received_bytes,
    ),
    (
        "bitcost_sent_bytes_total",
        "Bytes of user data sent in tests",
        |totals| totals.sent_bytes,
    ),
    (
        "bitcost_refused_total",
        "Clients that a rule refused",
        |totals| totals.refused.values().sum(),
    ),
    (
        "bitcost_failed_total",
        "Connections that failed before their test began",
        |totals| totals.failed,
    ),
];

type OfQueue = (&'static str, &'static str, fn(&Queue) -> usize);

/// A figure of the last test of a peer; absent where it was not measured.
type OfPeer = (&'static str, &'static str, fn(&Last) -> Option<f64>);

const OF_PEERS: [OfPeer; 7] = [
    (
        "bitcost_last_test_timestamp_seconds",
        "When the last test of the peer ended",
        |last| {
            let since = last.at.duration_since(UNIX_EPOCH).ok()?;
            Some(since.as_secs_f64())
        },
    ),
    (
        "bitcost_last_test_seconds",
        "Length of the last test of the peer",
        |last| last.tested.seconds,
    ),
    (
        "bitcost_last_test_received_bits_per_second",
        "Rate at which this host received in the last test of the peer",
        |last| rate(last.tested.received_bytes, last.tested.seconds),
    ),
    (
        "bitcost_last_test_sent_bits_per_second",
        "Rate at which this host sent in the last test of the peer",
        |last| rate(last.tested.sent_bytes, last.tested.seconds),
    ),
    (
        "bitcost_last_test_retransmitted_segments",
        "TCP segments that this host retransmitted in the last test of the peer",
        |last| last.tested.retransmitted.map(|count| count as f64),
    ),
    (
        "bitcost_last_test_lost_datagrams",
        "Datagrams that never came to this host in the last test of the peer",
        |last| last.tested.lost.map(|count| count as f64),
    ),
    (
        "bitcost_last_test_cpu_seconds",
        "CPU time on this host in the last test of the peer",
        |last| last.tested.cpu_seconds,
    ),
];

fn rate(bytes: u64, seconds: Option<f64>) -> Option<f64> {
    let seconds = seconds.filter(|seconds| bytes > 0 && *seconds > 0.0)?;
    Some(bytes as f64 * 8.0 / seconds)
}

/// The text of all counts.
pub fn text(counts: &Counts) -> String {
    let told = counts.told();
    let mut text = String::new();
    head(
        &mut text,
        "bitcost_build_info",
        "Version of this program",
        "gauge",
    );
    let version = env!("CARGO_PKG_VERSION");
    let _ = writeln!(text, "bitcost_build_info{{version=\"{version}\"}} 1");
    let name = "bitcost_unprinted_lines_total";
    let help = "Lines that could not be printed";
    head(&mut text, name, help, "counter");
    let _ = writeln!(text, "{name} {}", counts.unprinted_lines());
    tests(&mut text, &told);
    refusals(&mut text, &told);
    queues(&mut text, &counts.queues());
    for (name, help, figure) in OF_SERVICES {
        head(&mut text, name, help, "counter");
        for (service, totals) in &told.services {
            let _ = writeln!(text, "{name}{{service=\"{service}\"}} {}", figure(totals));
        }
    }
    for (name, help, figure) in OF_PEERS {
        head(&mut text, name, help, "gauge");
        for ((service, peer), last) in &told.peers {
            let Some(value) = figure(last) else { continue };
            let test = last.tested.test;
            let labels = format!("service=\"{service}\",{peer},test=\"{test}\"");
            let _ = writeln!(text, "{name}{{{labels}}} {value}");
        }
    }
    text
}

fn tests(text: &mut String, told: &Told) {
    let name = "bitcost_tests_total";
    head(text, name, "Tests that were served", "counter");
    for (service, totals) in &told.services {
        for ((test, is_complete), count) in &totals.tests {
            let result = if *is_complete { "complete" } else { "ended" };
            let labels = format!("service=\"{service}\",test=\"{test}\",result=\"{result}\"");
            let _ = writeln!(text, "{name}{{{labels}}} {count}");
        }
    }
}

fn refusals(text: &mut String, told: &Told) {
    let name = "bitcost_refused_by_rule_total";
    head(text, name, "Clients that each rule refused", "counter");
    for (service, totals) in &told.services {
        for (rule, count) in &totals.refused {
            let _ = writeln!(
                text,
                "{name}{{service=\"{service}\",rule=\"{rule}\"}} {count}"
            );
        }
    }
}

fn queues(text: &mut String, queues: &[(&str, Queue)]) {
    let figures: [OfQueue; 2] = [
        ("bitcost_tests_running", "Tests that are running", |queue| {
            queue.running
        }),
        (
            "bitcost_tests_waiting",
            "Tests that wait for their turn",
            |queue| queue.waiting,
        ),
    ];
    for (name, help, figure) in figures {
        head(text, name, help, "gauge");
        for (service, queue) in queues {
            let _ = writeln!(text, "{name}{{service=\"{service}\"}} {}", figure(queue));
        }
    }
}

fn head(text: &mut String, name: &str, help: impl Display, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::monitor::counts::{Peer, Tested};

    #[test]
    fn figures_that_were_not_measured_are_absent() {
        let counts = Counts::default();
        counts.begin("tls");
        counts.refused("iperf3", "max-rate");
        counts.unprinted(3);
        counts.with_queue("tls", || Queue {
            running: 2,
            waiting: 5,
        });
        let tested = Tested {
            test: "tcp",
            is_complete: true,
            seconds: Some(2.0),
            received_bytes: 1_000_000,
            ..Tested::default()
        };
        let key = Peer::Key {
            name: "a\"b\\".to_owned(),
            key: "eH7g".to_owned(),
        };
        counts.tested("tls", key, tested.clone());
        let peer = Peer::Address(IpAddr::from([192, 0, 2, 7]));
        counts.tested("iperf3", peer, tested);
        let ended = Tested {
            test: "udp",
            ..Tested::default()
        };
        let peer = Peer::Address(IpAddr::from([192, 0, 2, 8]));
        counts.tested("tls", peer, ended);
        let text = text(&counts);
        for line in [
            "bitcost_tests_total{service=\"iperf3\",test=\"tcp\",result=\"complete\"} 1",
            "bitcost_refused_total{service=\"iperf3\"} 1",
            "bitcost_refused_total{service=\"tls\"} 0",
            "bitcost_refused_by_rule_total{service=\"iperf3\",rule=\"max-rate\"} 1",
            "bitcost_tests_total{service=\"tls\",test=\"udp\",result=\"ended\"} 1",
            "bitcost_unprinted_lines_total 3",
            "bitcost_tests_running{service=\"tls\"} 2",
            "bitcost_tests_waiting{service=\"tls\"} 5",
            r#"bitcost_last_test_seconds{service="tls",peer="a\"b\\",key="eH7g",test="tcp"} 2"#,
            "bitcost_last_test_received_bits_per_second{service=\"iperf3\",peer=\"192.0.2.7\",test=\"tcp\"} 4000000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
        for absent in [
            "bitcost_last_test_sent_bits_per_second{",
            "bitcost_last_test_cpu_seconds{",
            "bitcost_last_test_seconds{service=\"tls\",peer=\"192.0.2.8\"",
        ] {
            assert!(!text.contains(absent), "{text}");
        }
    }
}
