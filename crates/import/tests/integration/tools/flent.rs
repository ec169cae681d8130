//! flent: series over time.

use std::io::Read;

use bitcost_import::read;

use super::{figure, fixture, has, number, one, word};

fn text(name: &str) -> String {
    let mut text = String::new();
    let packed = fixture(name);
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .expect("packed");
    text
}

#[test]
fn flows_are_summed_and_pings_are_background_latency() {
    let upload = one("flent/tcp_upload.flent.gz");
    assert_eq!(
        (word(&upload, "test"), word(&upload, "congestion_control")),
        ("tcp_upload".into(), "bbr".into())
    );
    assert!(figure(&upload, "throughput_mbps") > 0.0 && !upload.run.intervals.is_empty());
    let rrul = one("flent/rrul_noclassification.flent.gz");
    assert!(rrul.error.is_none());
    let (up, down) = (
        figure(&rrul, "throughput_mbps"),
        figure(&rrul, "background_throughput_mbps"),
    );
    assert!(
        (up - 14_312.76).abs() < 0.1 && (down - 17_900.38).abs() < 0.1,
        "{up} {down}"
    );
}

#[test]
fn flows_that_are_numbered_are_flows() {
    let three = one("flent/tcp_nup.flent.gz");
    assert!(
        (figure(&three, "throughput_mbps") - 81_408.68).abs() < 0.1,
        "the sum that flent prints as well"
    );
    assert!(has(&three, "background_latency_mean_us") && !has(&three, "latency_mean_us"));
    assert_eq!(
        (
            number(&three, "upload_streams"),
            number(&three, "ip_version")
        ),
        (3, 4)
    );
}

/// flent pings for five seconds before the flows start, and after they end.
#[test]
fn latency_with_traffic_is_of_the_time_of_traffic() {
    let mut document: serde_json::Value =
        serde_json::from_str(&text("flent/tcp_upload.flent.gz")).expect("JSON");
    let flows = document["results"]["TCP upload"]
        .as_array()
        .expect("a series")
        .clone();
    let pings = document["results"]["Ping (ms) ICMP"]
        .as_array_mut()
        .expect("a series");
    for (ping, flow) in pings.iter_mut().zip(flows) {
        *ping = serde_json::json!(if flow.is_null() { 1.0 } else { 50.0 });
    }
    let run = &read("x", document.to_string().as_bytes()).expect("a file")[0];
    assert_eq!(
        (
            figure(run, "background_latency_mean_us"),
            figure(run, "background_latency_p50_us")
        ),
        (50_000.0, 50_000.0)
    );
}

#[test]
fn a_test_whose_flows_failed_is_a_failed_run() {
    let failed = one("flent/tcp_nup-failed.flent.gz");
    let error = failed.error.unwrap_or_default();
    assert_eq!(
        error,
        "3 of flent's runners failed, and no series of throughput has values"
    );
}
