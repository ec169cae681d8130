//! One run as JSON of iperf3's shape. What was not measured has no key.

use metrics::{RunView, metric};
use model::conditions::Direction;
use model::record::{EndRecord, FlowRecord, Role, ThreadKind};
use serde_json::{Map, Value, json};

use crate::frame::{Stretch, of_end};

/// iperf3 names streams by the descriptors of their sockets, of which the first is 5; ours are numbered from there.
const FIRST_SOCKET: usize = 5;

/// The document: `start`, `intervals`, `end`, as a client of iperf3 prints them with `-J`. CPU use is of the traffic threads
/// alone, as iperf3's is of its process; 100 is one CPU.
pub fn iperf3(run: &RunView, version: &str) -> Value {
    json!({ "start": start(run, version), "intervals": intervals(run), "end": end(run) })
}

fn start(run: &RunView, version: &str) -> Value {
    let conditions = run.conditions;
    let mut test = json!({
        "protocol": protocol(run),
        "num_streams": conditions.flows,
        "blksize": conditions.message_size_bytes,
        "omit": conditions.warmup_ms / 1000,
        "duration": conditions.duration_ms.div_ceil(1000),
        "bytes": conditions.stop_bytes.unwrap_or(0),
        "blocks": conditions.stop_messages.unwrap_or(0),
        "reverse": u8::from(is_reverse(run)),
        "tos": conditions.dscp.unwrap_or(0) << 2,
        "target_bitrate": conditions.rate_bps.unwrap_or(0),
    });
    if conditions.direction == Direction::Both {
        test["bidir"] = json!(1);
    }
    let mut start = json!({ "connected": [], "version": format!("bitcost {version}"), "test_start": test });
    if let Some(mss) = run.sender.tcp_info.as_ref().and_then(|info| info.snd_mss_bytes) {
        start["tcp_mss_default"] = json!(mss);
    }
    start
}

/// Whether who began it, iperf3's client, is who receives.
fn is_reverse(run: &RunView) -> bool {
    run.conditions.direction == Direction::Reverse
}

/// The records of iperf3's client and server.
fn client_and_server<'a>(run: &RunView<'a>) -> [&'a EndRecord; 2] {
    if is_reverse(run) { [run.receiver, run.sender] } else { [run.sender, run.receiver] }
}

fn protocol(run: &RunView) -> &'static str {
    if run.conditions.workload.is_datagram() { "UDP" } else { "TCP" }
}

/// Bytes of an end over a stretch of time.
fn sum(seconds: f64, bytes: u64, is_sender: bool) -> Map<String, Value> {
    let rate = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    let entry = json!({ "start": 0, "end": seconds, "seconds": seconds, "bytes": bytes, "bits_per_second": rate, "sender": is_sender });
    entry.as_object().cloned().unwrap_or_default()
}

/// What the client saw, stretch by stretch.
fn intervals(run: &RunView) -> Vec<Value> {
    let [client, _] = client_and_server(run);
    let mss = run.sender.tcp_info.as_ref().and_then(|info| info.snd_mss_bytes);
    of_end(client).iter().map(|stretch| interval(stretch, !is_reverse(run), mss)).collect()
}

fn interval(stretch: &Stretch, is_sender: bool, mss: Option<u32>) -> Value {
    let figure = |name: &str| stretch.figures.get(name).copied();
    let seconds = stretch.end_s - stretch.begin_s;
    let rate = figure("throughput_mbps").unwrap_or(0.0) * 1e6;
    let mut entry = json!({
        "start": stretch.begin_s,
        "end": stretch.end_s,
        "seconds": seconds,
        "bytes": (rate * seconds / 8.0).round() as u64,
        "bits_per_second": rate,
        "omitted": false,
        "sender": is_sender,
    });
    if let Some(count) = figure("retransmits").filter(|_| is_sender) {
        entry["retransmits"] = json!(count as u64);
    }
    let sum = entry.clone();
    entry["socket"] = json!(FIRST_SOCKET);
    if let Some(rtt) = figure("rtt_us") {
        entry["rtt"] = json!(rtt as u64);
    }
    if let (Some(segments), Some(mss)) = (figure("congestion_window_segments"), mss) {
        entry["snd_cwnd"] = json!(segments as u64 * u64::from(mss));
    }
    json!({ "streams": [entry], "sum": sum })
}

fn end(run: &RunView) -> Value {
    let mut end = Map::new();
    let streams: Vec<Value> = run
        .sender
        .flows
        .iter()
        .zip(&run.receiver.flows)
        .zip(FIRST_SOCKET..)
        .map(|((sender, receiver), socket)| stream(run, sender, receiver, socket))
        .collect();
    end.insert("streams".into(), json!(streams));
    let (mut sent, mut received) = (total(run, Role::Sender), total(run, Role::Receiver));
    if run.conditions.workload.is_datagram() {
        let losses = losses(run);
        sent.insert("packets".into(), json!(run.measured(Role::Sender).messages));
        received.extend(losses.clone());
        let mut both = sent.clone();
        both.extend(losses);
        end.insert("sum".into(), Value::Object(both));
    } else if let Some(count) = value(run, "retransmits") {
        sent.insert("retransmits".into(), json!(count as u64));
    }
    end.insert("sum_sent".into(), Value::Object(sent));
    end.insert("sum_received".into(), Value::Object(received));
    let cpu: Map<String, Value> = ["host_total", "remote_total"]
        .into_iter()
        .zip(client_and_server(run))
        .filter_map(|(name, end)| Some((name.to_owned(), json!(threads_pct(end)?))))
        .collect();
    end.insert("cpu_utilization_percent".into(), Value::Object(cpu));
    for (name, record) in [("sender_tcp_congestion", run.sender), ("receiver_tcp_congestion", run.receiver)] {
        let setting = record.in_force.iter().find(|setting| setting.name == "congestion_control");
        if let Some(actual) = setting.and_then(|setting| setting.actual.clone()) {
            end.insert(name.into(), json!(actual));
        }
    }
    Value::Object(end)
}

fn value(run: &RunView, name: &str) -> Option<f64> {
    metric(name).and_then(|metric| (metric.compute)(run))
}

fn total(run: &RunView, role: Role) -> Map<String, Value> {
    sum(run.window_seconds(role).unwrap_or(0.0), run.measured(role).bytes, role == Role::Sender)
}

fn stream(run: &RunView, sender: &FlowRecord, receiver: &FlowRecord, socket: usize) -> Value {
    let of = |flow: &FlowRecord, role| {
        let seconds = run.window_seconds(role).unwrap_or(0.0);
        let mut sum = sum(seconds, flow.counts.measured.bytes, role == Role::Sender);
        sum.insert("socket".into(), json!(socket));
        Value::Object(sum)
    };
    if run.conditions.workload.is_datagram() {
        let mut udp = of(sender, Role::Sender);
        udp["packets"] = json!(sender.counts.measured.messages);
        if let Some(sequence) = &receiver.sequence {
            udp["lost_packets"] = json!(sequence.measured_lost);
            udp["out_of_order"] =
                json!(sequence.measured.as_ref().map_or(sequence.reordered, |window| window.reordered));
        }
        return json!({ "udp": udp });
    }
    let mut sent = of(sender, Role::Sender);
    if let Some(info) = &sender.tcp_info {
        for (name, value) in
            [("retransmits", info.total_retrans), ("mean_rtt", info.rtt_us), ("min_rtt", info.min_rtt_us)]
        {
            if let Some(value) = value {
                sent[name] = json!(value);
            }
        }
    }
    json!({ "sender": sent, "receiver": of(receiver, Role::Receiver) })
}

fn losses(run: &RunView) -> Map<String, Value> {
    let mut losses = Map::new();
    if let Some(sequence) = &run.receiver.sequence {
        losses.insert("lost_packets".into(), json!(sequence.measured_lost));
        losses.insert("packets".into(), json!(sequence.measured_sent));
    }
    for (name, figure) in
        [("lost_percent", value(run, "loss_pct")), ("jitter_ms", value(run, "jitter_us").map(|us| us / 1e3))]
    {
        if let Some(figure) = figure {
            losses.insert(name.into(), json!(figure));
        }
    }
    losses
}

/// Run time of an end's traffic threads ÷ time between the first and the last sample, in per cent of one CPU.
fn threads_pct(end: &EndRecord) -> Option<f64> {
    let (first, last) = (end.samples.first()?, end.samples.last()?);
    let run_ns = |sample: &model::record::Sample| -> u64 {
        sample.threads.iter().filter(|thread| thread.kind == ThreadKind::Traffic).map(|thread| thread.run_ns).sum()
    };
    let wall = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
    Some(100.0 * run_ns(last).checked_sub(run_ns(first))? as f64 / wall as f64)
}
