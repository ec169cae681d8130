//! One run as JSON in iperf3's format. Figures that were not measured have no key, but for those that iperf3 always prints,
//! which are null.

mod direction;
mod intervals;

use bitcost_analysis::cells::{RunRow, Status};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::metrics::{RunView, actual, figure_of, traffic_threads_pct};
use bitcost_model::conditions::Direction;
use bitcost_model::event::EndpointDescription;
use bitcost_model::record::{FlowRecord, Role};
use bitcost_model::units::bits_per_second;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use crate::document::value;
use crate::export::{ExportError, Form, Input};
use direction::{FIRST_SOCKET, Way, client_and_server, is_reverse, ways, with};

pub(crate) const FORM: Form = Form {
    name: "iperf3",
    help: "JSON as iperf3 prints it, of an execution with one run",
    holds_caveats: false,
    export,
};

fn export(input: &Input) -> Result<String, ExportError> {
    let [execution] = input.executions else {
        return usage(format!(
            "it shows one run, but {} executions are named; name one",
            input.executions.len()
        ));
    };
    let row = only(execution)?;
    let (name, ends) = (&execution.name, &execution.summary.ends);
    let began_at = row.began_at.as_deref();
    let mut printed = None;
    execution.each_run(|of| of.run == row.run, &mut |_, _, view| {
        let document = iperf3(view, ends, began_at, env!("CARGO_PKG_VERSION"));
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

/// The only run with a result.
fn only(execution: &Findings) -> Result<&RunRow, ExportError> {
    let (name, runs) = (&execution.name, &execution.summary.runs);
    if execution.summary.is_imported {
        return usage(format!(
            "it shows runs that bitcost made, and those of {name} were imported; take --format csv or json"
        ));
    }
    let has_result = |row: &&RunRow| matches!(row.status, Status::Used | Status::LeftOut);
    let candidates: Vec<&RunRow> = runs.iter().filter(has_result).collect();
    match candidates[..] {
        [row] if row.status == Status::LeftOut => Err(ExportError::Check(format!(
            "--format iperf3: the run of {name} is left out: {}",
            row.reason.as_deref().unwrap_or("no reason is known")
        ))),
        [row] => Ok(row),
        _ => usage(format!(
            "it shows one run, and {name} has {} with a result; take --format csv or json",
            candidates.len()
        )),
    }
}

/// The document: `start`, `intervals`, `end`, as a client of iperf3 prints them with `-J`. CPU use
/// is that of the traffic threads alone, as iperf3's is that of its process; 100 is one CPU.
/// `began_at` is the run's start (RFC 3339).
///
/// Absent for transactions, which iperf3 does not have.
pub fn iperf3(
    run: &RunView,
    ends: &[EndpointDescription],
    began_at: Option<&str>,
    version: &str,
) -> Option<Value> {
    (!run.conditions.workload.is_transactional()).then(|| {
        let mut document = value(&json!({
            "start": start(run, ends, began_at, version),
            "intervals": intervals::intervals(run),
            "end": end(run),
        }));
        let own: &[(&str, &str)] = match run.conditions.workload.is_datagram() {
            true => &[
                ("/end/sum", LOSSES),
                ("/end/sum_sent", LOSSES),
                ("/end/sum_received", LOSSES),
            ],
            false => &[
                ("/end/sum_sent", "retransmits"),
                ("/start", "tcp_mss_default"),
            ],
        };
        for (place, keys) in own.iter().chain(&ALWAYS) {
            match document.pointer_mut(place) {
                Some(Value::Array(all)) => all.iter_mut().for_each(|one| with_nulls(one, keys)),
                one => one.into_iter().for_each(|one| with_nulls(one, keys)),
            }
        }
        document
    })
}

fn with_nulls(object: &mut Value, keys: &str) {
    if let Some(object) = object.as_object_mut() {
        for key in keys.split(' ') {
            object.entry(key).or_insert(Value::Null);
        }
    }
}

/// Keys of a sum of datagrams.
const LOSSES: &str = "jitter_ms lost_packets packets lost_percent";

/// Keys that each document of iperf3 has, and that programs read without asking: null where the
/// figure was not measured.
const ALWAYS: [(&str, &str); 4] = [
    (
        "/start",
        "timestamp system_info cookie sock_bufsize sndbuf_actual rcvbuf_actual",
    ),
    (
        "/start/connected",
        "local_host local_port remote_host remote_port",
    ),
    ("/start/connecting_to", "host port"),
    (
        "/end/cpu_utilization_percent",
        "host_total host_user host_system remote_total remote_user remote_system",
    ),
];

fn start(
    run: &RunView,
    ends: &[EndpointDescription],
    began_at: Option<&str>,
    version: &str,
) -> Value {
    let conditions = run.conditions;
    // The client is always the host called sender, whose role in a reverse run is the other one.
    let of = |role: Role| Some(&ends.iter().find(|end| end.role == role)?.host);
    let (client, server) = of(Role::Sender).zip(of(Role::Receiver)).unzip();
    let [local, remote] = [client, server].map(|host| Some(&host?.host_name));
    let system = client.map(|host| (&host.host_name, &host.kernel, &host.architecture));
    let system = system.map(|(name, kernel, kind)| format!("Linux {name} {kernel} {kind}"));
    let info = run.sender.tcp_info.as_ref();
    let timestamp = began_at.and_then(|at| {
        let at = at.parse::<Timestamp>().ok()?;
        let time = at.to_zoned_datetime(TimeZone::UTC);
        let time = time.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        Some(json!({ "time": time, "timesecs": at.as_second() }))
    });
    let [client, _] = client_and_server(run);
    let sizes = client
        .flows
        .first()
        .map(|flow| flow.at_start)
        .unwrap_or_default();
    let flows = (FIRST_SOCKET..).take(conditions.flows as usize);
    let connected = |id| json!({ "socket": id, "local_host": local, "remote_host": remote });
    let connected: Vec<Value> = flows.map(connected).collect();
    json!({
        "connected": connected,
        "connecting_to": { "host": remote },
        "system_info": system,
        "version": format!("bitcost {version}"),
        "tcp_mss_default": info.and_then(|info| info.snd_mss_bytes),
        "timestamp": timestamp,
        "target_bitrate": conditions.rate_bps.unwrap_or(0),
        "sock_bufsize": conditions.receive_buffer_bytes.unwrap_or(0),
        "sndbuf_actual": sizes.send_buffer_bytes,
        "rcvbuf_actual": sizes.receive_buffer_bytes,
        "test_start": {
            "protocol": if conditions.workload.is_datagram() { "UDP" } else { "TCP" },
            "num_streams": conditions.flows,
            "blksize": conditions.message_size_bytes,
            "omit": conditions.warmup_ms / 1000,
            "duration": conditions.duration_ms.div_ceil(1000),
            "bytes": conditions.stop_bytes.unwrap_or(0),
            "blocks": conditions.stop_messages.unwrap_or(0),
            "reverse": u8::from(is_reverse(run)),
            "bidir": (conditions.direction == Direction::Both).then_some(1),
            "tos": conditions.dscp.unwrap_or(0) << 2,
            "target_bitrate": conditions.rate_bps.unwrap_or(0),
        },
    })
}

/// Bytes over a period; `sender` says whether the client is the sender.
fn sum((seconds, bytes): (f64, u64), sender: bool) -> Value {
    let rate = match seconds > 0.0 {
        true => bits_per_second(bytes, seconds),
        false => 0.0,
    };
    json!({ "start": 0, "end": seconds, "seconds": seconds, "bytes": bytes, "bits_per_second": rate, "sender": sender })
}

fn end(run: &RunView) -> Value {
    let (mut end, mut streams) = (Map::new(), Vec::new());
    for (way, other) in ways(run).iter().zip(["", "_bidir_reverse"]) {
        let flows = way.part.sender.flows.iter().zip(&way.part.receiver.flows);
        for (flow, ends) in flows.enumerate() {
            let socket = FIRST_SOCKET + streams.len();
            streams.push(match way.is_datagram() {
                true => datagrams(way, ends, socket),
                false => stream(way, flow, ends, socket),
            });
        }
        sums(&mut end, way, other);
    }
    let [host, remote] = client_and_server(run).map(traffic_threads_pct);
    let congestion = |record| actual(record, "congestion_control");
    with(
        Value::Object(end),
        json!({
            "streams": streams,
            "cpu_utilization_percent": { "host_total": host, "remote_total": remote },
            "sender_tcp_congestion": congestion(run.sender),
            "receiver_tcp_congestion": congestion(run.receiver),
        }),
    )
}

/// `sum_sent` and `sum_received` of a direction; for datagrams also `sum`.
fn sums(end: &mut Map<String, Value>, way: &Way, other: &str) {
    // For datagrams, iperf3 says which endpoint a sum is of; for streams, which endpoint the client
    // is.
    let of = |role| {
        let is_sender = match way.is_datagram() {
            true => role == Role::Sender,
            false => way.client_sends,
        };
        sum(way.total(role), is_sender)
    };
    let (mut sent, mut received) = (of(Role::Sender), of(Role::Receiver));
    if way.is_datagram() {
        let losses = losses(way);
        sent["packets"] = json!(way.part.sender.counts.measured.messages);
        received = with(received, losses.clone());
        let both = sum(way.total(Role::Sender), way.client_sends);
        end.insert(format!("sum{other}"), with(both, losses));
    } else {
        sent["retransmits"] = json!(way.retransmits(None));
    }
    end.insert(format!("sum_sent{other}"), sent);
    end.insert(format!("sum_received{other}"), received);
}

fn of_flow(way: &Way, flow: &FlowRecord, role: Role, socket: usize) -> Value {
    let bytes = flow.counts.measured.bytes;
    let entry = sum((way.total(role).0, bytes), way.client_sends);
    with(entry, json!({ "socket": socket }))
}

fn datagrams(way: &Way, (sender, receiver): (&FlowRecord, &FlowRecord), socket: usize) -> Value {
    let sequence = receiver.sequence.as_ref();
    let lost_percent = sequence.filter(|all| all.measured_sent > 0);
    let lost_percent =
        lost_percent.map(|all| 100.0 * all.measured_lost as f64 / all.measured_sent as f64);
    let out_of_order = sequence.map(|all| match &all.measured {
        Some(window) => window.reordered,
        None => all.reordered,
    });
    let own = json!({
        "packets": sender.counts.measured.messages,
        "lost_packets": sequence.map(|all| all.measured_lost),
        "lost_percent": lost_percent,
        "out_of_order": out_of_order,
    });
    json!({ "udp": with(of_flow(way, sender, Role::Sender, socket), own) })
}

/// One connection: round-trip times and window from the sender's samples, which iperf3 takes at its
/// intervals.
fn stream(
    way: &Way,
    flow: usize,
    (sender, receiver): (&FlowRecord, &FlowRecord),
    socket: usize,
) -> Value {
    let rtts = way.samples_of(flow, |info| info.rtt_us);
    let sum: u64 = rtts.iter().copied().map(u64::from).sum();
    let windows = way.samples_of(flow, |info| info.snd_cwnd_segments);
    let window = windows.iter().max().zip(way.mss());
    let own = json!({
        "retransmits": way.retransmits(Some(flow)),
        "min_rtt": rtts.iter().min(),
        "mean_rtt": sum.checked_div(rtts.len() as u64),
        "max_rtt": rtts.iter().max(),
        "max_snd_cwnd": window.map(|(most, mss)| u64::from(*most) * u64::from(mss)),
    });
    let sent = with(of_flow(way, sender, Role::Sender, socket), own);
    json!({ "sender": sent, "receiver": of_flow(way, receiver, Role::Receiver, socket) })
}

fn losses(way: &Way) -> Value {
    let view = way.part.view();
    let figure = |name: &str| figure_of(&view, name);
    let sequence = way.part.receiver.sequence.as_ref();
    json!({
        "lost_packets": sequence.map(|all| all.measured_lost),
        "packets": sequence.map(|all| all.measured_sent),
        "lost_percent": figure("loss_pct"),
        "jitter_ms": figure("jitter_us").map(|us| us / 1e3),
    })
}
