//! One run as JSON of iperf3's shape. What was not measured has no key.

mod intervals;
mod way;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use metrics::{RunView, metric};
use model::conditions::Direction;
use model::record::{EndRecord, FlowRecord, Role, ThreadKind};
use serde_json::{Map, Value, json};

use way::{Way, client_and_server, is_reverse, ways};

/// iperf3 names streams by the descriptors of their sockets, of which the first is 5; ours are numbered from there.
const FIRST_SOCKET: usize = 5;

/// The document: `start`, `intervals`, `end`, as a client of iperf3 prints them with `-J`. CPU use is of the traffic threads
/// alone, as iperf3's is of its process; 100 is one CPU. `began_at` is the run's begin (RFC 3339).
///
/// Absent for transactions, which iperf3 has not.
pub fn iperf3(run: &RunView, began_at: Option<&str>, version: &str) -> Option<Value> {
    if run.conditions.workload.is_transactional() {
        return None;
    }
    Some(json!({
        "start": start(run, began_at, version),
        "intervals": intervals::intervals(run),
        "end": end(run),
    }))
}

fn start(run: &RunView, began_at: Option<&str>, version: &str) -> Value {
    let conditions = run.conditions;
    let mut test = json!({
        "protocol": if conditions.workload.is_datagram() { "UDP" } else { "TCP" },
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
    if let Some(at) = began_at.and_then(|at| at.parse::<Timestamp>().ok()) {
        let time = at.to_zoned(TimeZone::UTC).strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        start["timestamp"] = json!({ "time": time, "timesecs": at.as_second() });
    }
    start
}

/// Bytes over a stretch of time; `sender` says whether it is the client that sends.
fn sum((seconds, bytes): (f64, u64), sender: bool) -> Map<String, Value> {
    let rate = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
    let entry = json!({ "start": 0, "end": seconds, "seconds": seconds, "bytes": bytes, "bits_per_second": rate, "sender": sender });
    entry.as_object().cloned().unwrap_or_default()
}

fn end(run: &RunView) -> Value {
    let mut end = Map::new();
    let mut streams = Vec::new();
    for (way, other) in ways(run).iter().zip(["", "_bidir_reverse"]) {
        let flows = way.part.sender.flows.iter().zip(&way.part.receiver.flows);
        for (flow, (sender, receiver)) in flows.enumerate() {
            let socket = FIRST_SOCKET + streams.len();
            streams.push(if way.is_datagram() {
                datagrams(way, sender, receiver, socket)
            } else {
                stream(way, flow, [sender, receiver], socket)
            });
        }
        sums(&mut end, way, other);
    }
    end.insert("streams".into(), json!(streams));
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

/// `sum_sent` and `sum_received` of a direction, of datagrams `sum`, too.
fn sums(end: &mut Map<String, Value>, way: &Way, other: &str) {
    // Of datagrams iperf3 says which end a sum is of, of streams which end the client is.
    let is_sender = |role| if way.is_datagram() { role == Role::Sender } else { way.client_sends };
    let of = |role| sum(way.total(role), is_sender(role));
    let (mut sent, mut received) = (of(Role::Sender), of(Role::Receiver));
    if way.is_datagram() {
        let losses = losses(way);
        sent.insert("packets".into(), json!(way.part.sender.counts.measured.messages));
        received.extend(losses.clone());
        let mut both = sum(way.total(Role::Sender), way.client_sends);
        both.extend(losses);
        end.insert(format!("sum{other}"), Value::Object(both));
    } else if let Some(count) = way.retransmits(None) {
        sent.insert("retransmits".into(), json!(count));
    }
    end.insert(format!("sum_sent{other}"), Value::Object(sent));
    end.insert(format!("sum_received{other}"), Value::Object(received));
}

/// One flow at one end.
fn of_flow(way: &Way, flow: &FlowRecord, role: Role, socket: usize) -> Value {
    let mut entry = sum((way.total(role).0, flow.counts.measured.bytes), way.client_sends);
    entry.insert("socket".into(), json!(socket));
    Value::Object(entry)
}

fn datagrams(way: &Way, sender: &FlowRecord, receiver: &FlowRecord, socket: usize) -> Value {
    let mut udp = of_flow(way, sender, Role::Sender, socket);
    udp["packets"] = json!(sender.counts.measured.messages);
    if let Some(sequence) = &receiver.sequence {
        udp["lost_packets"] = json!(sequence.measured_lost);
        if sequence.measured_sent > 0 {
            udp["lost_percent"] = json!(100.0 * sequence.measured_lost as f64 / sequence.measured_sent as f64);
        }
        udp["out_of_order"] = json!(sequence.measured.as_ref().map_or(sequence.reordered, |window| window.reordered));
    }
    json!({ "udp": udp })
}

/// One connection: round trips and window of the sender's samples, as iperf3 takes them at its intervals.
fn stream(way: &Way, flow: usize, [sender, receiver]: [&FlowRecord; 2], socket: usize) -> Value {
    let mut sent = of_flow(way, sender, Role::Sender, socket);
    if let Some(count) = way.retransmits(Some(flow)) {
        sent["retransmits"] = json!(count);
    }
    let rtts = way.samples_of(flow, |info| info.rtt_us);
    if let (Some(least), Some(most)) = (rtts.iter().min(), rtts.iter().max()) {
        let mean = rtts.iter().copied().map(u64::from).sum::<u64>() / rtts.len() as u64;
        (sent["min_rtt"], sent["mean_rtt"], sent["max_rtt"]) = (json!(least), json!(mean), json!(most));
    }
    let windows = way.samples_of(flow, |info| info.snd_cwnd_segments);
    if let (Some(most), Some(mss)) = (windows.iter().max(), way.mss()) {
        sent["max_snd_cwnd"] = json!(u64::from(*most) * u64::from(mss));
    }
    json!({ "sender": sent, "receiver": of_flow(way, receiver, Role::Receiver, socket) })
}

fn losses(way: &Way) -> Map<String, Value> {
    let mut losses = Map::new();
    let view = way.part.view();
    let value = |name: &str| metric(name).and_then(|metric| (metric.compute)(&view));
    if let Some(sequence) = &way.part.receiver.sequence {
        losses.insert("lost_packets".into(), json!(sequence.measured_lost));
        losses.insert("packets".into(), json!(sequence.measured_sent));
    }
    for (name, figure) in [("lost_percent", value("loss_pct")), ("jitter_ms", value("jitter_us").map(|us| us / 1e3))] {
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
