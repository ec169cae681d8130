//! Results in the forms of netperf and iperf3, beside what these print: headings, selectors, units, paths of JSON.

mod common;

use common::{Did, Made, STUDY, ended, log, plain};
use model::event::Event;
use model::study::Cell;
use report::frame::{Table, Value, csv};
use report::peers::{iperf3, netperf_keyval, netperf_table};
use report::run_views;
use serde_json::Value as Json;

/// What netperf 2.7 printed.
const CSV: &str = include_str!("../../import/tests/fixtures/netperf/netperf-omni.csv");
const KEYVAL: &str = include_str!("../../import/tests/fixtures/netperf/netperf-keyval.txt");
const RR: &str = include_str!("../../import/tests/fixtures/netperf/netperf-keyval-rr.txt");

/// What iperf3 3.12 printed.
const TCP: &str = include_str!("../../import/tests/fixtures/iperf3/iperf3-tcp.json");
const UDP: &str = include_str!("../../import/tests/fixtures/iperf3/iperf3-udp.json");

/// The list of selectors of "Not All Mbit/s Are the Same", as netperf heads them.
const PAPER: &str = "Local Send Size,Local Send Throughput,Remote Recv Throughput,Local Send Calls,Remote Recv Calls,\
    Local CPU Util %,Local Peak Per CPU Util %,Local Service Demand,Remote CPU Util %,Remote Peak Per CPU Util %,\
    Remote Service Demand,Service Demand Units";

fn events(study: &str) -> Vec<Event> {
    log(study, 1, |cell, planned| {
        let did = plain(cell, planned);
        ended(cell, &Did { sent_mbps: did.sent_mbps * 1.25, ..did })
    })
}

fn table(events: &[Event]) -> Table {
    let views = run_views(events).expect("runs");
    netperf_table(views.into_iter().map(|(_, cell, view)| (cell, view)))
}

/// Transactions of 100 bytes there and 1000 back, a thousand a second.
fn transactions() -> Vec<Event> {
    let study = STUDY
        .replace("workload = \"udp_stream\", receive_buffer_bytes = 4194304", "workload = \"udp_rr\"")
        .replace("workload = \"tcp_stream\", mss = \"message\", offloads = \"on\"", "workload = \"tcp_rr\"")
        .replace("duration_s = 2", "duration_s = 2\nrequest_size_bytes = 100\nresponse_size_bytes = 1000");
    let made = |cell: &Cell| {
        let did = Did { sent_mbps: 8.8, received_mbps: 8.8, sender_cpu_ms: 1000, receiver_cpu_ms: 500 };
        let Made::Ended(mut sender, mut receiver) = ended(cell, &did) else { unreachable!() };
        for end in [&mut sender, &mut receiver] {
            end.counts.measured.messages = 2000;
            end.sequence = None;
        }
        Made::Ended(sender, receiver)
    };
    log(&study, 1, |cell, _| made(cell))
}

#[test]
fn headings_are_netperf_s_and_the_paper_s_stand_together() {
    let text = csv(&table(&events(STUDY)));
    let own: Vec<&str> = text.lines().next().expect("headings").split(',').collect();
    let printed: Vec<&str> = CSV.lines().nth(1).expect("headings").split(',').collect();
    let unknown = own
        .iter()
        .filter(|title| !printed.contains(title) && !title.contains("Latency") && !title.ends_with("Size Bytes"));
    assert_eq!(unknown.collect::<Vec<_>>(), Vec::<&&str>::new(), "in what netperf printed: {printed:?}");
    assert!(own.join(",").contains(PAPER), "{own:?}");
}

#[test]
fn selectors_are_netperf_s_with_its_units_and_its_quotes() {
    let known = |text: &str, name: &str| text.lines().any(|line| line.starts_with(&format!("{name}=")));
    let own = netperf_keyval(&table(&events(STUDY)));
    let lines = || own.lines().filter_map(|line| line.split_once('='));
    let unknown: Vec<&str> =
        lines().map(|(name, _)| name).filter(|name| !known(KEYVAL, name) && !known(RR, name)).collect();
    assert_eq!(unknown, ["RESULT_BRAND"; 4], "known by `-B` alone");
    let first: Vec<&str> = lines().filter(|(name, _)| *name == "RESULT_BRAND").map(|(_, brand)| brand).collect();
    assert!(first.contains(&"\"1024 · UDP\""), "{first:?}");
    for line in [
        "SD_UNITS=usec/KB",
        "THROUGHPUT_UNITS=10^6bits/s",
        "DIRECTION=Send",
        "THROUGHPUT=1024",
        "LOCAL_SEND_THROUGHPUT=1280",
    ] {
        assert!(own.lines().any(|own| own == line), "{line}:\n{own}");
    }
}

#[test]
fn transactions_are_counted_as_netperf_counts_them() {
    let table = table(&transactions());
    let of = |title: &str| &table.rows[0][table.columns.iter().position(|known| known == title).expect("a column")];
    assert_eq!(of("Throughput Units"), &Value::from("Trans/s"));
    assert_eq!((of("Throughput"), of("Local Send Calls")), (&Value::Number(1000.0), &Value::Whole(2000)));
    assert_eq!((of("Local Send Size"), of("Request Size Bytes")), (&Value::Absent, &Value::from(100_u32)));
    assert_eq!((of("Local Send Throughput"), of("Remote Recv Throughput")), (&Value::Number(0.8), &Value::Number(0.8)));
    assert_eq!(of("Service Demand Units"), &Value::from("usec/Tran"));
    // Half of the one CPU for 2 s, 2000 times.
    let Value::Number(demand) = of("Local Service Demand") else { panic!("{table:?}") };
    assert!((demand - 500.0).abs() < 1.0, "{demand}");
}

/// The paths of all values, lists by their first.
fn paths(value: &Json, at: &str, found: &mut Vec<String>) {
    match value {
        Json::Object(map) => map.iter().for_each(|(key, value)| paths(value, &format!("{at}.{key}"), found)),
        Json::Array(list) => list.iter().take(1).for_each(|value| paths(value, &format!("{at}[]"), found)),
        _ => found.push(at.to_owned()),
    }
}

#[test]
fn json_has_no_path_that_iperf3_has_not_and_those_that_scripts_read() {
    let events = events(STUDY);
    for (planned, cell, view) in run_views(&events).expect("runs") {
        let own = iperf3(&view, "0.1.0");
        let real: Json = serde_json::from_str(if cell.name().contains("UDP") { UDP } else { TCP }).expect("JSON");
        let of = |document: &Json| {
            let mut found = Vec::new();
            paths(document, "", &mut found);
            found
        };
        let (own_paths, real_paths) = (of(&own), of(&real));
        let more: Vec<&String> = own_paths.iter().filter(|path| !real_paths.contains(path)).collect();
        assert!(more.is_empty(), "{}: {more:?}", cell.name());
        for path in ["/end/sum_received/bits_per_second", "/end/sum_sent/bytes", "/intervals/0/sum/bits_per_second"] {
            assert!(own.pointer(path).is_some_and(Json::is_number), "{path} of run {}: {own:#}", planned.index);
        }
        for path in ["/start/test_start/protocol", "/start/version"] {
            assert!(own.pointer(path).is_some_and(Json::is_string), "{path}");
        }
        let rate = own["end"]["sum_received"]["bits_per_second"].as_f64().expect("a rate");
        let expected = if cell.name().starts_with("1024") { 1024e6 } else { 2048e6 };
        assert!((rate - expected).abs() < 1e5, "{rate}");
    }
}
