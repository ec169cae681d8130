//! One run as JSON in iperf3's format. Figures that were not measured have no key.

mod direction;
mod intervals;

use bitcost_analysis::metrics::{RunView, metric};
use bitcost_model::conditions::Direction;
use bitcost_model::record::{EndpointRecord, FlowRecord, Role, ThreadKind};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::export::{ExportError, Form, Input};
use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;
use direction::{FIRST_SOCKET, Way, client_and_server, is_reverse, ways};

/// `--format iperf3`.
pub(crate) const FORM: Form = Form::new(
    "iperf3",
    "JSON as iperf3 prints it, of an execution with one run or of --run",
    export,
);

fn export(input: &Input) -> Result<String, ExportError> {
    let [execution] = input.executions else {
        return usage(format!(
            "it shows one run, but {} executions are named; name one",
            input.executions.len()
        ));
    };
    let row = chosen(execution, input.run)?;
    let name = &execution.name;
    let mut printed = None;
    execution.each_run(|of| of.run == row.run, &mut |_, _, view| {
        let document = iperf3(view, row.began_at.as_deref(), &input.maker.version);
        printed = Some(document.ok_or(view.conditions.workload.name()));
    });
    match printed {
        Some(Ok(document)) => Ok(format!("{document:#}\n")),
        Some(Err(workload)) => usage(format!(
            "run {} of {name} is {workload}, and iperf3 only has streams; take --format json",
            row.run + 1
        )),
        None => usage(format!("the log of {name} changed while it was read")),
    }
}

fn usage<T>(what: String) -> Result<T, ExportError> {
    Err(ExportError::Usage(format!("--format iperf3: {what}")))
}

/// The run with this number, from 1; without a number, the only run with a result.
fn chosen(execution: &Findings, wanted: Option<u32>) -> Result<&RunRow, ExportError> {
    let (name, runs) = (&execution.name, &execution.summary.runs);
    if execution.summary.is_imported {
        return usage(format!(
            "it shows runs that bitcost made, and those of {name} were imported; take --format csv or json"
        ));
    }
    let has_result = |row: &RunRow| matches!(row.status, Status::Used | Status::LeftOut);
    let is_chosen = |row: &&RunRow| match wanted {
        Some(wanted) => row.run + 1 == wanted,
        None => has_result(row),
    };
    let candidates: Vec<&RunRow> = runs.iter().filter(is_chosen).collect();
    let [row] = candidates[..] else {
        let last = runs.last().map_or(0, |row| row.run + 1);
        return usage(match wanted {
            Some(wanted) => format!("{name} has no run {wanted}; its runs are 1 to {last}"),
            None if candidates.is_empty() => format!("no run of {name} has a result"),
            None => format!(
                "it shows one run, and {name} has {} with a result; choose one with --run N",
                candidates.len()
            ),
        });
    };
    let reason = row.reason.as_deref().unwrap_or("no reason is known");
    let status = row.status.name();
    match row.status {
        Status::Used => Ok(row),
        Status::LeftOut => Err(ExportError::Check(format!(
            "--format iperf3: run {} of {name} is left out: {reason}",
            row.run + 1
        ))),
        _ => usage(format!(
            "run {} of {name} has no result ({status}): {reason}",
            row.run + 1
        )),
    }
}

/// The document: `start`, `intervals`, `end`, as a client of iperf3 prints them with `-J`. CPU use
/// is that of the traffic threads alone, as iperf3's is that of its process; 100 is one CPU.
/// `began_at` is the run's start (RFC 3339).
///
/// Absent for transactions, which iperf3 does not have.
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
    let mut start =
        json!({ "connected": [], "version": format!("bitcost {version}"), "test_start": test });
    if let Some(mss) = run
        .sender
        .tcp_info
        .as_ref()
        .and_then(|info| info.snd_mss_bytes)
    {
        start["tcp_mss_default"] = json!(mss);
    }
    if let Some(at) = began_at.and_then(|at| at.parse::<Timestamp>().ok()) {
        let time = at
            .to_zoned(TimeZone::UTC)
            .strftime("%a, %d %b %Y %H:%M:%S GMT")
            .to_string();
        start["timestamp"] = json!({ "time": time, "timesecs": at.as_second() });
    }
    start
}

/// Bytes over a period; `sender` says whether the client is the sender.
fn sum((seconds, bytes): (f64, u64), sender: bool) -> Map<String, Value> {
    let rate = if seconds > 0.0 {
        bytes as f64 * 8.0 / seconds
    } else {
        0.0
    };
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
    for (name, record) in [
        ("sender_tcp_congestion", run.sender),
        ("receiver_tcp_congestion", run.receiver),
    ] {
        let setting = record
            .in_effect
            .iter()
            .find(|setting| setting.name == "congestion_control");
        if let Some(actual) = setting.and_then(|setting| setting.actual.clone()) {
            end.insert(name.into(), json!(actual));
        }
    }
    Value::Object(end)
}

/// `sum_sent` and `sum_received` of a direction; for datagrams also `sum`.
fn sums(end: &mut Map<String, Value>, way: &Way, other: &str) {
    // For datagrams, iperf3 says which endpoint a sum is of; for streams, which endpoint the client
    // is.
    let is_sender = |role| {
        if way.is_datagram() {
            role == Role::Sender
        } else {
            way.client_sends
        }
    };
    let of = |role| sum(way.total(role), is_sender(role));
    let (mut sent, mut received) = (of(Role::Sender), of(Role::Receiver));
    if way.is_datagram() {
        let losses = losses(way);
        sent.insert(
            "packets".into(),
            json!(way.part.sender.counts.measured.messages),
        );
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

fn of_flow(way: &Way, flow: &FlowRecord, role: Role, socket: usize) -> Value {
    let mut entry = sum(
        (way.total(role).0, flow.counts.measured.bytes),
        way.client_sends,
    );
    entry.insert("socket".into(), json!(socket));
    Value::Object(entry)
}

fn datagrams(way: &Way, sender: &FlowRecord, receiver: &FlowRecord, socket: usize) -> Value {
    let mut udp = of_flow(way, sender, Role::Sender, socket);
    udp["packets"] = json!(sender.counts.measured.messages);
    if let Some(sequence) = &receiver.sequence {
        udp["lost_packets"] = json!(sequence.measured_lost);
        if sequence.measured_sent > 0 {
            udp["lost_percent"] =
                json!(100.0 * sequence.measured_lost as f64 / sequence.measured_sent as f64);
        }
        udp["out_of_order"] = json!(
            sequence
                .measured
                .as_ref()
                .map_or(sequence.reordered, |window| window.reordered)
        );
    }
    json!({ "udp": udp })
}

/// One connection: round-trip times and window from the sender's samples, which iperf3 takes at its
/// intervals.
fn stream(way: &Way, flow: usize, [sender, receiver]: [&FlowRecord; 2], socket: usize) -> Value {
    let mut sent = of_flow(way, sender, Role::Sender, socket);
    if let Some(count) = way.retransmits(Some(flow)) {
        sent["retransmits"] = json!(count);
    }
    let rtts = way.samples_of(flow, |info| info.rtt_us);
    if let (Some(least), Some(most)) = (rtts.iter().min(), rtts.iter().max()) {
        let mean = rtts.iter().copied().map(u64::from).sum::<u64>() / rtts.len() as u64;
        (sent["min_rtt"], sent["mean_rtt"], sent["max_rtt"]) =
            (json!(least), json!(mean), json!(most));
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
    for (name, figure) in [
        ("lost_percent", value("loss_pct")),
        ("jitter_ms", value("jitter_us").map(|us| us / 1e3)),
    ] {
        if let Some(figure) = figure {
            losses.insert(name.into(), json!(figure));
        }
    }
    losses
}

/// Run time of an endpoint's traffic threads ÷ time between the first and the last sample, in per
/// cent of one CPU.
fn threads_pct(end: &EndpointRecord) -> Option<f64> {
    let (first, last) = (end.samples.first()?, end.samples.last()?);
    let run_ns = |sample: &bitcost_model::record::Sample| -> u64 {
        sample
            .threads
            .iter()
            .filter(|thread| thread.kind == ThreadKind::Traffic)
            .map(|thread| thread.run_ns)
            .sum()
    };
    let wall = last.at_ns.checked_sub(first.at_ns).filter(|ns| *ns > 0)?;
    Some(100.0 * run_ns(last).checked_sub(run_ns(first))? as f64 / wall as f64)
}
