//! A document as a run: its settings, the sums at its end, its intervals.

use std::collections::BTreeMap;

use bitcost_model::imported::ImportedInterval;
use bitcost_model::record::Role;
use bitcost_model::study::Label;
use serde_json::Value;

use super::json::measured;
use crate::Found;

pub(super) fn found(file: &str, document: &Value) -> Found {
    let mut found = Found::of("iperf3", file);
    let start = &document["start"];
    found.run.tool_version = start["version"]
        .as_str()
        .map(|version| version.trim_start_matches("iperf ").to_owned());
    found.run.began_at =
        measured(&start["timestamp"]["timesecs"]).and_then(crate::seconds::rfc3339);
    levels(&mut found, document);
    sums(&mut found, document);
    process_cpu(&mut found, document);
    facts(&mut found, document);
    let intervals = document["intervals"].as_array().into_iter().flatten();
    found.run.intervals = intervals.filter_map(interval).collect();
    found.error = document["error"].as_str().map(str::to_owned);
    if found.error.is_none() && found.run.figures.is_empty() {
        let silent = "the document has no result (its `end` is empty): the test did not finish";
        found.error = Some(silent.to_owned());
    }
    found
}

/// The requested settings of the test; 0 means that the setting was left to the kernel. The title is
/// next to the start, or in some versions inside it.
fn levels(found: &mut Found, document: &Value) {
    let (start, test) = (&document["start"], &document["start"]["test_start"]);
    let protocol = test["protocol"].as_str().map(str::to_ascii_lowercase);
    let word = |value: &Value| value.as_str().map(str::to_owned);
    for (factor, value) in [
        ("protocol", protocol),
        (
            "direction",
            test.is_object().then(|| direction(document).to_owned()),
        ),
        ("brand", word(&document["title"]).or(word(&start["title"]))),
        (
            "congestion_control",
            word(&document["end"]["sender_tcp_congestion"]),
        ),
    ] {
        if let Some(value) = value {
            found.level(factor, Label::Text(value));
        }
    }
    for (factor, value) in [
        ("message_size_bytes", &test["blksize"]),
        ("flows", &test["num_streams"]),
        ("mss_bytes", &start["tcp_mss"]),
        ("rate_bps", &test["target_bitrate"]),
        ("rate_bps", &start["target_bitrate"]),
        ("pacing_rate_bps", &test["fqrate"]),
        ("socket_buffer_bytes", &start["sock_bufsize"]),
        ("tos", &test["tos"]),
    ] {
        if let Some(number) = positive(value) {
            found.level(factor, Label::Number(number as i64));
        }
    }
}

fn is_reverse(document: &Value) -> bool {
    positive(&document["start"]["test_start"]["reverse"]).is_some()
}

/// Only a server's document names the connection that it accepted.
fn is_of_server(document: &Value) -> bool {
    document["start"]["accepted_connection"].is_object()
}

/// iperf3 up to 3.16 does not report bidirectional data in its start; the sums do.
fn direction(document: &Value) -> &'static str {
    let test = &document["start"]["test_start"];
    let has_both = |sums: &Value| {
        let mut names = sums.as_object().into_iter().flat_map(|sums| sums.keys());
        names.any(|name| name.ends_with("_bidir_reverse"))
    };
    let is_both = has_both(&document["end"])
        || has_both(&document["intervals"][0])
        || ["bidir", "bidirectional"]
            .iter()
            .any(|key| positive(&test[*key]).is_some());
    match is_reverse(document) {
        _ if is_both => "both",
        true => "reverse",
        false => "forward",
    }
}

/// The sums at the end. A server's document has zeros for the endpoint that it does not describe.
fn sums(found: &mut Found, document: &Value) {
    let end = &document["end"];
    let far = match is_reverse(document) {
        _ if !is_of_server(document) => "",
        true => "sum_received",
        false => "sum_sent",
    };
    let own = |name: &str| match positive(&end[name]["bytes"]) {
        None if far == name => &Value::Null,
        _ => &end[name],
    };
    let (sent, received, sum) = (own("sum_sent"), own("sum_received"), &end["sum"]);
    // Where a UDP document has only this sum, it is the sender's.
    let is_alone = !end["sum_sent"].is_object() && far != "sum_sent";
    let sending = rate_mbps(if is_alone { sum } else { sent });
    found.figure("send_throughput_mbps", sending);
    found.figure("throughput_mbps", rate_mbps(received));
    let is_counted = positive(&received["packets"]).is_some();
    if !sum.is_object() {
        found.figure("retransmits", measured(&sent["retransmits"]));
    } else if is_counted || far != "sum_received" {
        let lost = if is_counted { received } else { sum };
        found.figure("loss_pct", measured(&lost["lost_percent"]));
        found.figure(
            "jitter_us",
            measured(&lost["jitter_ms"]).map(|ms| ms * 1000.0),
        );
    }
    let background = rate_mbps(&end["sum_received_bidir_reverse"]);
    found.figure(
        "background_throughput_mbps",
        background.filter(|rate| *rate > 0.0),
    );
}

/// CPU time of iperf3's process at each endpoint that the document describes. `host` is where the
/// document was written: the client, unless it is a server's, which does not know the client's.
fn process_cpu(found: &mut Found, document: &Value) {
    let cpu = &document["end"]["cpu_utilization_percent"];
    let is_server = is_of_server(document);
    let host = measured(&cpu["host_total"]);
    let remote = measured(&cpu["remote_total"]).filter(|_| !is_server);
    let (sender, receiver) = match is_server == is_reverse(document) {
        true => (host, remote),
        false => (remote, host),
    };
    found.figure("iperf3_sender_cpu_pct", sender);
    found.figure("iperf3_receiver_cpu_pct", receiver);
    for (name, value) in cpu.as_object().into_iter().flatten() {
        if let Some(value) = measured(value).filter(|_| !(is_server && name.starts_with("remote")))
        {
            found.fact(&format!("cpu_{name}_pct_of_one_cpu"), value);
        }
    }
}

/// Bytes divided by the time in which they were counted. Some versions divide the receiver's bytes
/// by the sender's time for the rate in the file.
fn rate_mbps(sum: &Value) -> Option<f64> {
    let seconds = measured(&sum["end"]).map(|end| end - measured(&sum["start"]).unwrap_or(0.0));
    match measured(&sum["bytes"]).zip(seconds.filter(|seconds| *seconds > 0.0)) {
        Some((bytes, seconds)) => Some(bytes * 8.0 / 1e6 / seconds),
        None => Some(measured(&sum["bits_per_second"])? / 1e6),
    }
}

fn facts(found: &mut Found, document: &Value) {
    let (start, end) = (&document["start"], &document["end"]);
    for (name, value) in [
        ("system_info", &start["system_info"]),
        ("cookie", &start["cookie"]),
        ("sender_congestion_control", &end["sender_tcp_congestion"]),
        (
            "receiver_congestion_control",
            &end["receiver_tcp_congestion"],
        ),
    ] {
        if let Some(words) = value.as_str() {
            found.fact(name, words);
        }
    }
    let of_streams = |key: &str| values(&end["streams"], |stream| &stream["sender"][key]);
    for (name, value) in [
        ("sock_bufsize", positive(&start["sock_bufsize"])),
        ("sndbuf_actual", positive(&start["sndbuf_actual"])),
        ("rcvbuf_actual", positive(&start["rcvbuf_actual"])),
        ("tcp_mss_default", positive(&start["tcp_mss_default"])),
        ("mean_rtt_us", mean(&of_streams("mean_rtt"))),
        (
            "min_rtt_us",
            of_streams("min_rtt").into_iter().reduce(f64::min),
        ),
        (
            "max_rtt_us",
            of_streams("max_rtt").into_iter().reduce(f64::max),
        ),
    ] {
        if let Some(value) = value {
            found.fact(name, value);
        }
    }
}

/// An interval: sums over the streams; means over them for round-trip time and congestion window.
fn interval(interval: &Value) -> Option<ImportedInterval> {
    let streams = &interval["streams"];
    let sum = match &interval["sum"] {
        sum @ Value::Object(_) => sum,
        _ => &streams[0],
    };
    if sum["omitted"].as_bool() == Some(true) {
        return None;
    }
    let figures = [
        (
            "throughput_mbps",
            measured(&sum["bits_per_second"]).map(|bits| bits / 1e6),
        ),
        ("retransmits", measured(&sum["retransmits"])),
        ("loss_pct", measured(&sum["lost_percent"])),
        (
            "jitter_us",
            measured(&sum["jitter_ms"]).map(|ms| ms * 1000.0),
        ),
        ("rtt_us", mean(&values(streams, |stream| &stream["rtt"]))),
        (
            "congestion_window_bytes",
            mean(&values(streams, |stream| &stream["snd_cwnd"])),
        ),
    ];
    let figures = figures
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    Some(ImportedInterval {
        end: match sum["sender"].as_bool() {
            Some(false) => Role::Receiver,
            _ => Role::Sender,
        },
        begin_s: measured(&sum["start"])?,
        end_s: measured(&sum["end"])?,
        figures: figures.collect::<BTreeMap<_, _>>(),
    })
}

/// The measured values of the streams; 0 means *not measured*, because times and windows are never
/// 0.
fn values<'a>(streams: &'a Value, of: impl Fn(&'a Value) -> &'a Value) -> Vec<f64> {
    let streams = streams.as_array().into_iter().flatten();
    streams.filter_map(|stream| positive(of(stream))).collect()
}

fn positive(value: &Value) -> Option<f64> {
    measured(value).filter(|number| *number > 0.0)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
