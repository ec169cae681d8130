//! A document's description of the test: the host, the time, and the settings.

use bitcost_model::study::Label;
use serde_json::Value;

use crate::Found;
use crate::lenient::measured;

pub(super) fn take(found: &mut Found, document: &Value) {
    let start = &document["start"];
    found.run.tool_version = start["version"]
        .as_str()
        .map(|version| version.trim_start_matches("iperf ").to_owned());
    levels(found, start);
    if start["test_start"].is_object() {
        found.level("direction", Label::Text(direction(document).to_owned()));
    }
    // The title is next to the start, or in some versions inside it.
    for title in [&document["title"], &start["title"]] {
        if let Some(title) = title.as_str() {
            found.level("brand", Label::Text(title.to_owned()));
        }
    }
    if let Some(word) = document["end"]["sender_tcp_congestion"].as_str() {
        found.level("congestion_control", Label::Text(word.to_owned()));
    }
    if let Some(seconds) = measured(&start["timestamp"]["timesecs"]) {
        found.run.began_at = crate::seconds::rfc3339(seconds);
    }
    facts(found, start);
}

/// The requested settings of the test; 0 means that the setting was left to the kernel.
fn levels(found: &mut Found, start: &Value) {
    let test = &start["test_start"];
    if let Some(protocol) = test["protocol"].as_str() {
        found.level("protocol", Label::Text(protocol.to_ascii_lowercase()));
    }
    let rate = [&start["target_bitrate"], &test["target_bitrate"]];
    let rate = rate
        .into_iter()
        .find(|rate| measured(rate).is_some())
        .unwrap_or(&Value::Null);
    let numbers = [
        ("message_size_bytes", &test["blksize"]),
        ("flows", &test["num_streams"]),
        ("mss_bytes", &start["tcp_mss"]),
        ("rate_bps", rate),
        ("pacing_rate_bps", &test["fqrate"]),
        ("socket_buffer_bytes", &start["sock_bufsize"]),
        ("tos", &test["tos"]),
    ];
    for (factor, value) in numbers {
        if let Some(number) = measured(value).filter(|number| *number > 0.0) {
            found.level(factor, Label::Number(number as i64));
        }
    }
}

/// iperf3 up to 3.16 does not report bidirectional data in its start; the sums at the end do.
fn direction(document: &Value) -> &'static str {
    let test = &document["start"]["test_start"];
    let is_set = |key: &str| test[key].as_i64().unwrap_or(0) != 0;
    let sums = document["end"]
        .as_object()
        .into_iter()
        .flat_map(|end| end.keys());
    let has_both = sums
        .into_iter()
        .any(|name| name.ends_with("_bidir_reverse"));
    let interval = &document["intervals"][0];
    match () {
        () if has_both || is_set("bidir") || is_set("bidirectional") => "both",
        () if interval["sum_bidir_reverse"].is_object() => "both",
        () if is_set("reverse") => "reverse",
        () => "forward",
    }
}

fn facts(found: &mut Found, start: &Value) {
    for key in ["system_info", "cookie"] {
        if let Some(words) = start[key].as_str() {
            found.fact(key, words);
        }
    }
    for key in [
        "sock_bufsize",
        "sndbuf_actual",
        "rcvbuf_actual",
        "tcp_mss_default",
    ] {
        if let Some(number) = measured(&start[key]).filter(|number| *number > 0.0) {
            found.fact(key, number);
        }
    }
}
