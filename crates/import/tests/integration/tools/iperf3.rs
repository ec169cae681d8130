//! iperf3: documents of clients and servers, streams of events.

use bitcost_import::read;

use super::{figure, has, one};

#[test]
fn iperf3_traps() {
    let document = r#"{"start":{"test_start":{"protocol":"TCP"}},"intervals":[],
        "end":{"sum_sent":{"end":1,"bytes":1500000,"retransmits":18446744073709551615},"sum_received":{"start":0,"end":2,
        "seconds":1,"bytes":2500000,"bits_per_second":-nan},"x":-nan},"error":"first","error":"second"}"#;
    let run = &read("x", document.as_bytes()).expect("lenient")[0];
    assert_eq!(figure(run, "throughput_mbps"), 10.0);
    assert!(
        !run.imported.figures.contains_key("retransmits"),
        "-1 as 2^64-1"
    );
    assert_eq!(run.error.as_deref(), Some("second"));
    let stream = "{\"event\":\"start\",\"data\":{\"version\":\"iperf 3.17\",\"test_start\":{\"protocol\":\"UDP\"}}}\n\
        {\"event\":\"interval\",\"data\":{\"streams\":[],\"sum\":{\"start\":0,\"end\":1,\"bits_per_second\":8e6,\"sender\":true}}}\n\
        {\"event\":\"end\",\"data\":{\"sum\":{\"start\":0,\"end\":1,\"bytes\":1000000,\"lost_percent\":2.5,\"jitter_ms\":0.5}}}\n\
        {\"event\":\"sta";
    let run = &read("x", stream.as_bytes()).expect("a stream")[0];
    assert_eq!(
        (
            figure(run, "send_throughput_mbps"),
            figure(run, "loss_pct"),
            figure(run, "jitter_us")
        ),
        (8.0, 2.5, 500.0)
    );
    assert_eq!(figure(run, "throughput_mbps"), 7.8);
    let [derived, cut] = &run.imported.notes[..] else {
        panic!("{:?}", run.imported.notes)
    };
    assert!(derived.contains("does not say what arrived"), "{derived}");
    assert!(cut.contains("line 4 is cut"), "{cut}");
    let odd = "{\"event\":\"start\",\"data\":{}}\n5\n[]\n";
    assert!(
        read("x", odd.as_bytes()).expect("a stream")[0]
            .error
            .is_some(),
        "lines that are no objects say nothing"
    );
}

/// The events of a stream with the whole document after them (`--json-stream-full-output`),
/// combined from the output of 3.12.
#[test]
fn the_whole_document_after_its_events_is_the_same_run() {
    let whole = String::from_utf8(super::fixture("iperf3/iperf3-tcp.json")).expect("text");
    let document: serde_json::Value = serde_json::from_str(&whole).expect("a document");
    let event = |name: &str, data: &serde_json::Value| {
        format!("{{\"event\":\"{name}\",\"data\":{data}}}\n")
    };
    let mut text = event("start", &document["start"]);
    for interval in document["intervals"].as_array().expect("intervals") {
        text += &event("interval", interval);
    }
    text += &event("end", &document["end"]);
    let events = read("x", text.as_bytes()).expect("events");
    let both = read("x", format!("{text}{whole}").as_bytes()).expect("events and a document");
    assert_eq!((events.len(), both.len()), (1, 1));
    assert_eq!(both, read("x", whole.as_bytes()).expect("a document"));
    assert_eq!(events[0].imported.figures, both[0].imported.figures);
    let server = format!("{}{text}", event("server_output_json", &document["end"]));
    assert_eq!(
        read("x", server.as_bytes()).expect("events"),
        events,
        "the server's output may stand first"
    );
}

#[test]
fn cpu_of_the_process_is_of_the_end_that_sends_or_receives() {
    let file = |reverse: i64| {
        let text = r#"{"start":{"test_start":{"protocol":"TCP","num_streams":4,"blksize":131072,"reverse":0}},"intervals":[],
            "end":{"sum_sent":{"bytes":1000,"start":0,"end":1},"sum_received":{"bytes":1000,"start":0,"end":1},
            "cpu_utilization_percent":{"host_total":81.8,"host_user":2.0,"remote_total":38.7}}}"#;
        text.replace("\"reverse\":0", &format!("\"reverse\":{reverse}"))
    };
    for (reverse, sender, receiver) in [(0, 81.8, 38.7), (1, 38.7, 81.8)] {
        let found = read("x.json", file(reverse).as_bytes()).expect("a document");
        assert_eq!(figure(&found[0], "sender_process_cpu_pct"), sender);
        assert_eq!(figure(&found[0], "receiver_process_cpu_pct"), receiver);
        assert!(!has(&found[0], "sender_cpu_util_pct"));
    }
    let server = one("iperf3/iperf3-server-reverse.json");
    assert!(has(&server, "sender_process_cpu_pct") && !has(&server, "receiver_process_cpu_pct"));
}
