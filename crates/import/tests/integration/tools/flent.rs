//! flent: series over time.

use std::io::Read;

use bitcost_import::read;

use super::{figure, fixture};

fn text(name: &str) -> String {
    let mut text = String::new();
    let packed = fixture(name);
    flate2::read::GzDecoder::new(&packed[..])
        .read_to_string(&mut text)
        .expect("packed");
    text
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
