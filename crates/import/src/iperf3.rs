//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events, one a line.

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::json::Node;
use crate::run::{Run, Sums, Way};

/// The documents, with the events of each stream (`--json-stream`) as the one that iperf3 would
/// otherwise have written. `--json-stream-full-output` writes the whole document after its events;
/// it then replaces them.
pub(crate) fn without_events(documents: Vec<Node>) -> Vec<Node> {
    let mut whole: Vec<(Node, bool)> = Vec::new();
    for document in documents {
        let Some(event) = document.text("event") else {
            whole.pop_if(|(_, is_of_events)| *is_of_events);
            whole.push((document, false));
            continue;
        };
        // The server's output may come before the client's start.
        let is_begun = |(key, _): &(String, &RawValue)| !key.starts_with("server_output");
        let is_next = |(last, is_of_events): &(Node, bool)| {
            *is_of_events && !(event == "start" && last.0.iter().any(is_begun))
        };
        if !whole.last().is_some_and(is_next) {
            whole.push((Node::default(), true));
        }
        if let Some((last, _)) = whole.last_mut() {
            let data = document.values("data").next_back();
            last.0.extend(data.map(|data| (event, data)));
        }
    }
    whole.into_iter().map(|(document, _)| document).collect()
}

pub(crate) fn read(run: &mut Run, document: &Node) {
    let (start, end) = (document.node("start"), document.node("end"));
    let way = way(&start, &end, document);
    let seconds = start.node("timestamp").number("timesecs");
    let began = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
    run.imported.began_at = began.map(|at| at.to_string());
    // A shorter one than iperf3's tells no tests apart.
    run.cookie = start.text("cookie").filter(|cookie| cookie.len() >= 36);
    run.is_server = way.is_server;
    levels(run, way, &start);
    // The title is next to the start, or in some versions inside it.
    run.level("brand", document.text("title").or(start.text("title")));
    run.level("congestion_control", end.text("sender_tcp_congestion"));
    figures(run, way, &end);
    run.error = document.text("error");
    if run.error.is_none() && run.imported.figures.is_empty() {
        let silent = "the document has no result (its `end` is empty): the test did not finish";
        run.error = Some(silent.to_owned());
    }
}

fn way(start: &Node, end: &Node, document: &Node) -> Way {
    let test = start.node("test_start");
    let intervals = document.node("intervals").0;
    let first = intervals.first().map(|(_, raw)| Node::of(raw));
    let first = first.unwrap_or_else(|| document.node("interval"));
    // Versions up to 3.16 do not say it in their start; the sums do.
    let sums = ["sum", "sum_sent", "sum_received"];
    let has_back = |of: &Node| sums.iter().any(|name| sum(of, name, true).is_some());
    let says = |key| test.positive(key).is_some();
    let is_both = has_back(end) || has_back(&first) || says("bidir") || says("bidirectional");
    Way {
        direction: match says("reverse") {
            _ if is_both => Direction::Both,
            true => Direction::Reverse,
            false => Direction::Forward,
        },
        // Only a server's document names the connection that it accepted.
        is_server: start.get("accepted_connection").is_some(),
    }
}

/// The requested settings of the test.
fn levels(run: &mut Run, way: Way, start: &Node) {
    let test = &start.node("test_start");
    let flow = start.nodes("connected").into_iter().next();
    let flow = flow.unwrap_or_default();
    let named = start.node("connecting_to").text("host");
    let server = match way.is_server {
        true => flow.text("local_host"),
        false => named.or(flow.text("remote_host")),
    };
    if !test.0.is_empty() {
        let server = server.map(|host| host.trim_start_matches("::ffff:").to_owned());
        run.way(way.direction, server);
    }
    let protocol = test.text("protocol");
    run.level("protocol", protocol.map(|name| name.to_ascii_lowercase()));
    for (factor, of, key) in [
        ("message_size_bytes", test, "blksize"),
        ("flows", test, "num_streams"),
        ("mss_bytes", start, "tcp_mss"),
        ("rate_bps", test, "target_bitrate"),
        ("rate_bps", start, "target_bitrate"),
        ("pacing_rate_bps", test, "fqrate"),
        ("socket_buffer_bytes", start, "sock_bufsize"),
        ("tos", test, "tos"),
    ] {
        run.setting(factor, of.positive(key));
    }
}

/// The sums of a direction, and the CPU time of iperf3's process at each endpoint that the document
/// describes: a server's does not know the client's.
fn figures(run: &mut Run, way: Way, end: &Node) {
    let back = (way.direction == Direction::Both).then(|| sums(way, end, true));
    let received_back = back.and_then(|back| back.received.or(back.derived()));
    run.sums(
        &sums(way, end, false),
        received_back.filter(|rate| *rate > 0.0),
    );
    let cpu = end.node("cpu_utilization_percent");
    let far = (!way.is_server).then(|| (way.own().other(), "remote_total"));
    for (end, key) in [(way.own(), "host_total")].into_iter().chain(far) {
        run.figure(&format!("{}_process_cpu_pct", end.name()), cpu.number(key));
    }
}

fn sums(way: Way, end: &Node, is_back: bool) -> Sums {
    // A server's document has zeros for the end that it does not describe.
    let is_far = |role| way.is_server && (role == way.own()) == is_back;
    let of = |name, role| {
        let sum = sum(end, name, is_back);
        sum.filter(|sum| !is_far(role) || sum.positive("bytes").is_some())
    };
    let both = sum(end, "sum", is_back);
    let is_datagrams = both.is_some();
    // Where a UDP document has only this sum, it is the sender's.
    let alone = |role| both.clone().filter(|_| !is_far(role)).unwrap_or_default();
    let sent = of("sum_sent", Role::Sender).unwrap_or_else(|| alone(Role::Sender));
    let received = of("sum_received", Role::Receiver).unwrap_or_default();
    let lost = match received.positive("packets") {
        Some(_) => &received,
        None => &alone(Role::Receiver),
    };
    let of_lost = |key| lost.number(key).filter(|_| is_datagrams);
    Sums {
        sent: rate_mbps(&sent),
        received: rate_mbps(&received),
        again: sent.number("retransmits").filter(|_| !is_datagrams),
        loss_pct: of_lost("lost_percent"),
        jitter_us: of_lost("jitter_ms").map(|ms| ms * 1000.0),
    }
}

/// A sum of the direction from client to server, or of the one back. Versions up to 3.10 write those
/// of both by one name, in this order, later ones the one back by a name of its own.
fn sum<'a>(of: &Node<'a>, name: &str, is_back: bool) -> Option<Node<'a>> {
    let mut own = of.values(name);
    let raw = match is_back {
        true => own
            .nth(1)
            .or(of.values(&format!("{name}_bidir_reverse")).next()),
        false => own.next(),
    };
    raw.map(Node::of)
}

/// Bytes divided by the time in which they were counted. Some versions divide the receiver's bytes
/// by the sender's time for the rate in the file.
fn rate_mbps(sum: &Node) -> Option<f64> {
    let end = sum.number("end");
    let seconds = end.map(|end| end - sum.number("start").unwrap_or(0.0));
    match sum.number("bytes").zip(seconds) {
        Some((bytes, seconds)) if seconds > 0.0 => Some(bytes * 8.0 / 1e6 / seconds),
        _ => Some(sum.number("bits_per_second")? / 1e6),
    }
}
