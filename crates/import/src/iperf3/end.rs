//! The sums at the end of a test.

use serde_json::Value;

use super::per_stream::{mean, values};
use crate::Found;
use crate::lenient::measured;

pub(super) fn take(found: &mut Found, document: &Value) {
    let end = &document["end"];
    let far = far_end(document);
    let own = |name: &'static str| {
        let sum = &end[name];
        let is_unknown =
            far == Some(name) && measured(&sum["bytes"]).is_none_or(|bytes| bytes == 0.0);
        if is_unknown { &Value::Null } else { sum }
    };
    let (sent, received) = (own("sum_sent"), own("sum_received"));
    // Where a UDP document has only this sum, it is the sender's.
    let is_alone = !end["sum_sent"].is_object() && far != Some("sum_sent");
    found.figure(
        "send_throughput_mbps",
        rate_mbps(if is_alone { &end["sum"] } else { sent }),
    );
    found.figure("throughput_mbps", rate_mbps(received));
    if end["sum"].is_object() {
        let is_counted = measured(&received["packets"]).is_some_and(|packets| packets > 0.0);
        let loss = if is_counted { received } else { &end["sum"] };
        if is_counted || far != Some("sum_received") {
            found.figure("loss_pct", measured(&loss["lost_percent"]));
            found.figure(
                "jitter_us",
                measured(&loss["jitter_ms"]).map(|ms| ms * 1000.0),
            );
        }
    } else {
        found.figure("retransmits", measured(&sent["retransmits"]));
    }
    found.figure(
        "background_throughput_mbps",
        rate_mbps(&end["sum_received_bidir_reverse"]).filter(|rate| *rate > 0.0),
    );
    process_cpu(found, document, far.is_some());
    facts(found, end, far.is_some());
}

/// CPU time of iperf3's process at each endpoint that the document describes. `host` is where the
/// document was written: the client, unless it is a server's.
fn process_cpu(found: &mut Found, document: &Value, is_server: bool) {
    let test = &document["start"]["test_start"];
    let is_reverse = test["reverse"].as_i64().unwrap_or(0) != 0;
    let cpu = &document["end"]["cpu_utilization_percent"];
    let host = measured(&cpu["host_total"]);
    let remote = measured(&cpu["remote_total"]).filter(|_| !is_server);
    let (sender, receiver) = match is_server == is_reverse {
        true => (host, remote),
        false => (remote, host),
    };
    found.figure("iperf3_sender_cpu_pct", sender);
    found.figure("iperf3_receiver_cpu_pct", receiver);
}

/// The sum of the endpoint that a server's document does not describe: all its values are zero.
fn far_end(document: &Value) -> Option<&'static str> {
    let start = &document["start"];
    if !start["accepted_connection"].is_object() {
        return None;
    }
    let is_reverse = start["test_start"]["reverse"].as_i64().unwrap_or(0) != 0;
    Some(if is_reverse {
        "sum_received"
    } else {
        "sum_sent"
    })
}

/// Bytes divided by the time in which they were counted. Some versions divide the receiver's bytes
/// by the sender's time for the rate in the file.
fn rate_mbps(sum: &Value) -> Option<f64> {
    let counted = measured(&sum["bytes"]).zip(measured(&sum["end"]).filter(|end| *end > 0.0));
    let begin = measured(&sum["start"]).unwrap_or(0.0);
    match counted {
        Some((bytes, end)) if end > begin => Some(bytes * 8.0 / 1e6 / (end - begin)),
        _ => Some(measured(&sum["bits_per_second"])? / 1e6),
    }
}

/// A server does not know the client's CPU use.
fn facts(found: &mut Found, end: &Value, is_server: bool) {
    let streams = &end["streams"];
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            found.fact(name, value);
        }
    };
    add(
        "mean_rtt_us",
        mean(streams, |stream| &stream["sender"]["mean_rtt"]),
    );
    add(
        "min_rtt_us",
        values(streams, |stream| &stream["sender"]["min_rtt"]).reduce(f64::min),
    );
    add(
        "max_rtt_us",
        values(streams, |stream| &stream["sender"]["max_rtt"]).reduce(f64::max),
    );
    let accounts = end["cpu_utilization_percent"]
        .as_object()
        .into_iter()
        .flatten();
    for (name, value) in accounts.filter(|(name, _)| !(is_server && name.starts_with("remote"))) {
        add(&format!("cpu_{name}_pct_of_one_cpu"), measured(value));
    }
    for (key, fact) in [
        ("sender_tcp_congestion", "sender_congestion_control"),
        ("receiver_tcp_congestion", "receiver_congestion_control"),
    ] {
        if let Some(word) = end[key].as_str() {
            found.fact(fact, word);
        }
    }
}
