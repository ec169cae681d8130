//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (a document per test), and as a stream of events.

use model::imported::ImportedInterval;
use model::record::Role;
use model::study::Label;
use serde_json::{Map, Value};

use crate::Found;
use crate::lenient::{documents, measured};

pub(crate) fn is(text: &str) -> bool {
    text.trim_start().starts_with('{') && text.contains("\"start\"") && text.contains("\"end\"")
}

pub(crate) fn is_stream(text: &str) -> bool {
    let first = text.trim_start().lines().next().unwrap_or("");
    first.starts_with("{\"event\":") && first.contains("\"data\":") && !first.contains("execution_began")
}

pub(crate) fn read(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let (documents, rest) = documents(text);
    if documents.is_empty() {
        return Err(format!("its JSON cannot be read: {}", rest.unwrap_or_default()));
    }
    let count = documents.len();
    let mut found: Vec<Found> =
        documents.iter().enumerate().map(|(place, doc)| document(file, doc, place, count)).collect();
    if let (Some(rest), Some(last)) = (rest, found.last_mut()) {
        last.run.notes.push(format!("{file}: what follows document {count} could not be read: {rest}"));
    }
    Ok(found)
}

/// One line per event, put together as the document that iperf3 would have written without `--json-stream`.
pub(crate) fn read_stream(file: &str, text: &str) -> Result<Vec<Found>, String> {
    let mut found = Vec::new();
    let mut present: Option<Map<String, Value>> = None;
    let mut done = |document: Option<Map<String, Value>>| found.extend(document.map(Value::Object));
    for (place, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let (mut lines, rest) = documents(line);
        if rest.is_some() || lines.is_empty() {
            let document = present.get_or_insert_default();
            let reason = format!("line {} is cut or damaged; the lines before it were read", place + 1);
            document.entry("bitcost_note").or_insert(Value::from(reason));
            break;
        }
        let mut part = |key: &str| lines[0].get_mut(key).map(Value::take).unwrap_or_default();
        let (event, data) = (part("event"), part("data"));
        match event.as_str() {
            Some("start") => {
                done(present.take());
                present.get_or_insert_default().insert("start".into(), data);
            }
            Some("interval") => {
                let intervals =
                    present.get_or_insert_default().entry("intervals").or_insert_with(|| Value::Array(Vec::new()));
                intervals.as_array_mut().into_iter().for_each(|list| list.push(data.clone()));
            }
            Some(name) => {
                present.get_or_insert_default().insert(name.to_owned(), data);
            }
            None => {}
        }
    }
    done(present.take());
    let count = found.len();
    Ok(found.iter().enumerate().map(|(place, value)| document(file, value, place, count)).collect())
}

fn document(file: &str, document: &Value, place: usize, count: usize) -> Found {
    let mut found = Found::of("iperf3", file);
    found.run.place = (count > 1).then(|| format!("document {}", place + 1));
    if let Some(note) = document["bitcost_note"].as_str() {
        found.run.notes.push(format!("{file}: {note}"));
    }
    start(&mut found, &document["start"]);
    let error = document["error"].as_str().map(str::to_owned);
    let end = &document["end"];
    figures(&mut found, end);
    intervals(&mut found, &document["intervals"]);
    found.error = error.or_else(|| {
        let silent = found.run.figures.is_empty();
        silent.then(|| "the document has no result (its `end` is empty): the test was broken off".to_owned())
    });
    if let Some(text) = end["cpu_utilization_percent"].as_object() {
        for (name, value) in text {
            if let Some(value) = measured(value) {
                found.fact(&format!("cpu_{name}_pct_of_one_cpu"), value);
            }
        }
    }
    found
}

fn start(found: &mut Found, start: &Value) {
    found.run.tool_version = start["version"].as_str().map(|version| version.trim_start_matches("iperf ").to_owned());
    let test = &start["test_start"];
    let word = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(protocol) = word(&test["protocol"]) {
        found.level("protocol", Label::Text(protocol.to_ascii_lowercase()));
    }
    for (key, factor) in [("blksize", "message_size_bytes"), ("num_streams", "flows")] {
        if let Some(number) = test[key].as_i64() {
            found.level(factor, Label::Number(number));
        }
    }
    let both = test["bidir"].as_i64().unwrap_or(0) != 0 || test["bidirectional"].as_i64().unwrap_or(0) != 0;
    let direction = if both {
        "both"
    } else if test["reverse"].as_i64().unwrap_or(0) != 0 {
        "reverse"
    } else {
        "forward"
    };
    if test.is_object() {
        found.level("direction", Label::Text(direction.to_owned()));
    }
    if let Some(rate) =
        measured(&start["target_bitrate"]).or_else(|| measured(&test["target_bitrate"])).filter(|rate| *rate > 0.0)
    {
        found.level("rate_bps", Label::Number(rate as i64));
    }
    if let Some(mss) = start["tcp_mss"].as_i64() {
        found.level("mss_bytes", Label::Number(mss));
    }
    if let Some(title) = word(&start["title"]) {
        found.level("brand", Label::Text(title));
    }
    if let Some(seconds) = measured(&start["timestamp"]["timesecs"]) {
        found.run.began_at = crate::seconds::rfc3339(seconds);
    }
    for key in ["system_info", "cookie"] {
        if let Some(words) = word(&start[key]) {
            found.fact(key, words);
        }
    }
    for key in ["sock_bufsize", "sndbuf_actual", "rcvbuf_actual", "tcp_mss_default"] {
        if let Some(number) = measured(&start[key]).filter(|number| *number > 0.0) {
            found.fact(key, number);
        }
    }
}

/// Bytes over the time in which they were counted. The rate that stands beside them divides the receiver's bytes by the
/// sender's time in some versions.
fn rate_mbps(sum: &Value) -> Option<f64> {
    let counted = measured(&sum["bytes"]).zip(measured(&sum["end"]).filter(|end| *end > 0.0));
    let begin = measured(&sum["start"]).unwrap_or(0.0);
    match counted {
        Some((bytes, end)) if end > begin => Some(bytes * 8.0 / 1e6 / (end - begin)),
        _ => Some(measured(&sum["bits_per_second"])? / 1e6),
    }
}

fn figures(found: &mut Found, end: &Value) {
    let udp = end["sum"].is_object();
    let (sent, received) = (&end["sum_sent"], &end["sum_received"]);
    found.figure("throughput_mbps", rate_mbps(received).filter(|_| received.is_object()));
    let sender = if sent.is_object() { sent } else { &end["sum"] };
    found.figure("send_throughput_mbps", rate_mbps(sender).filter(|_| sender.is_object()));
    if !udp {
        found.figure("retransmits", measured(&sent["retransmits"]));
    }
    let loss = if measured(&received["packets"]).is_some_and(|packets| packets > 0.0) { received } else { &end["sum"] };
    if udp {
        found.figure("loss_pct", measured(&loss["lost_percent"]));
        found.figure("jitter_us", measured(&loss["jitter_ms"]).map(|ms| ms * 1000.0));
    }
    found.figure("beside_throughput_mbps", rate_mbps(&end["sum_received_bidir_reverse"]).filter(|rate| *rate > 0.0));
    let stream = &end["streams"][0]["sender"];
    for (key, fact) in [("mean_rtt", "mean_rtt_us"), ("min_rtt", "min_rtt_us"), ("max_rtt", "max_rtt_us")] {
        if let Some(value) = measured(&stream[key]).filter(|value| *value > 0.0) {
            found.fact(fact, value);
        }
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

fn intervals(found: &mut Found, list: &Value) {
    for interval in list.as_array().into_iter().flatten() {
        let sum = if interval["sum"].is_object() { &interval["sum"] } else { &interval["streams"][0] };
        if sum["omitted"].as_bool() == Some(true) {
            continue;
        }
        let (Some(begin_s), Some(end_s)) = (measured(&sum["start"]), measured(&sum["end"])) else { continue };
        let end = if sum["sender"].as_bool() == Some(false) { Role::Receiver } else { Role::Sender };
        let mut figures = std::collections::BTreeMap::new();
        let mut add = |name: &str, value: Option<f64>| {
            figures.extend(value.filter(|value| value.is_finite()).map(|value| (name.to_owned(), value)));
        };
        add("throughput_mbps", measured(&sum["bits_per_second"]).map(|bits| bits / 1e6));
        add("retransmits", measured(&sum["retransmits"]));
        add("loss_pct", measured(&sum["lost_percent"]));
        add("jitter_us", measured(&sum["jitter_ms"]).map(|ms| ms * 1000.0));
        let stream = &interval["streams"][0];
        add("rtt_us", measured(&stream["rtt"]).filter(|rtt| *rtt > 0.0));
        add("congestion_window_bytes", measured(&stream["snd_cwnd"]).filter(|window| *window > 0.0));
        found.run.intervals.push(ImportedInterval { end, begin_s, end_s, figures });
    }
}
