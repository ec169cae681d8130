//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events, one a line.

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::json::{Node, documents, without_nan};
use crate::run::{Done, Run, Runs, Sums, Way, mean};

/// The end of the names of sums from server to client, where a test has both directions.
const BACK: &str = "_bidir_reverse";

pub(crate) fn read(runs: &mut Runs, text: &str) -> Done {
    let has = |keys: [&str; 2]| keys.iter().all(|key| text.contains(key));
    let is_json = text.contains('{') && !text.contains("\"execution_began\"");
    if !is_json || !(has(["\"start\"", "\"end\""]) || has(["\"event\"", "\"data\""])) {
        return Ok(());
    }
    let text = without_nan(text);
    let (documents, broken) = documents(&text, is_document)?;
    for document in without_events(documents) {
        runs.push(run(runs, &document))?;
    }
    broken.into_iter().for_each(|broken| runs.note(&broken));
    if let [only] = &mut runs.all[..] {
        only.imported.place = None;
    }
    Ok(())
}

fn is_document(node: &Node) -> bool {
    let is = |(key, begin)| node.get(key).is_some_and(|value| value.starts_with(begin));
    let mut parts = [("start", '{'), ("end", '{'), ("intervals", '[')].into_iter();
    node.get("event").is_some() && node.get("data").is_some() || parts.any(is)
}

/// The documents, with the events of each stream (`--json-stream`) as the one that iperf3 would
/// otherwise have written. `--json-stream-full-output` writes the whole document after its events;
/// it then replaces them.
fn without_events(documents: Vec<Node>) -> Vec<Node> {
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

fn run(runs: &Runs, document: &Node) -> Run {
    let within = document.node("intervals").0.into_iter();
    let within = within.map(|(_, interval)| interval);
    let intervals: Vec<_> = document.values("interval").chain(within).collect();
    let test = Test::of(document, intervals.first().copied());
    let place = format!("document {}", runs.all.len() + 1);
    let mut run = runs.begin("iperf3", Some(place));
    let version = test.start.text("version");
    run.imported.tool_version =
        version.map(|version| version.trim_start_matches("iperf ").to_owned());
    let seconds = test.start.node("timestamp").number("timesecs");
    let began = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
    run.imported.began_at = began.map(|at| at.to_string());
    test.levels(&mut run, document.text("title"));
    test.figures(&mut run);
    run.cookie = test.start.text("cookie");
    run.is_server = test.way.is_server;
    for raw in intervals {
        interval(&mut run, &Node::of(raw));
    }
    run.error = document.text("error");
    if run.error.is_none() && run.imported.figures.is_empty() {
        let silent = "the document has no result (its `end` is empty): the test did not finish";
        run.error = Some(silent.to_owned());
    }
    run
}

struct Test<'a> {
    start: Node<'a>,
    test: Node<'a>,
    end: Node<'a>,
    way: Way,
}

impl<'a> Test<'a> {
    fn of(document: &Node<'a>, first: Option<&'a RawValue>) -> Test<'a> {
        let (start, end) = (document.node("start"), document.node("end"));
        let test = start.node("test_start");
        let first = first.map(Node::of).unwrap_or_default();
        // Versions up to 3.16 do not say it in their start; the sums do.
        let sums = ["sum", "sum_sent", "sum_received"];
        let has_back = |of: &Node| sums.iter().any(|name| sum(of, name, true).is_some());
        let says = |key| test.positive(key).is_some();
        let is_both = has_back(&end) || has_back(&first) || says("bidir") || says("bidirectional");
        let way = Way {
            direction: match says("reverse") {
                _ if is_both => Direction::Both,
                true => Direction::Reverse,
                false => Direction::Forward,
            },
            // Only a server's document names the connection that it accepted.
            is_server: start.get("accepted_connection").is_some(),
        };
        Test {
            start,
            test,
            end,
            way,
        }
    }

    /// The requested settings of the test. The title is next to the start, or in some versions
    /// inside it.
    fn levels(&self, run: &mut Run, title: Option<String>) {
        let (start, test) = (&self.start, &self.test);
        let flow = start.nodes("connected").into_iter().next();
        let flow = flow.unwrap_or_default();
        let server = match self.way.is_server {
            true => flow.text("local_host"),
            false => start
                .node("connecting_to")
                .text("host")
                .or(flow.text("remote_host")),
        };
        if !test.0.is_empty() {
            let server = server.map(|host| host.trim_start_matches("::ffff:").to_owned());
            run.way(self.way.direction, server);
        }
        let protocol = test.text("protocol");
        run.level("protocol", protocol.map(|name| name.to_ascii_lowercase()));
        run.level("brand", title.or(start.text("title")));
        run.level("congestion_control", self.end.text("sender_tcp_congestion"));
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

    fn sums(&self, is_back: bool) -> Sums {
        // A server's document has zeros for the end that it does not describe.
        let is_far = |end| self.way.is_server && (end == self.way.own()) == is_back;
        let of = |name, end| {
            let sum = sum(&self.end, name, is_back);
            sum.filter(|sum| !is_far(end) || sum.positive("bytes").is_some())
        };
        let sum = sum(&self.end, "sum", is_back).unwrap_or_default();
        // Where a UDP document has only this sum, it is the sender's.
        let sent = of("sum_sent", Role::Sender);
        let alone = || Some(sum.clone()).filter(|_| !is_far(Role::Sender));
        let sent = sent.or_else(alone).unwrap_or_default();
        let received = of("sum_received", Role::Receiver).unwrap_or_default();
        let is_datagrams = !sum.0.is_empty();
        let lost = match received.positive("packets") {
            Some(_) => Some(&received),
            None => Some(&sum).filter(|_| !is_far(Role::Receiver)),
        };
        let of_lost = |key| lost.filter(|_| is_datagrams)?.number(key);
        Sums {
            sent: rate_mbps(&sent),
            received: rate_mbps(&received),
            again: sent.number("retransmits").filter(|_| !is_datagrams),
            loss_pct: of_lost("lost_percent"),
            jitter_us: of_lost("jitter_ms").map(|ms| ms * 1000.0),
        }
    }

    /// The sums, and CPU time of iperf3's process at each endpoint that the document describes. `host`
    /// is where the document was written: the client, unless it is a server's, which does not know
    /// the client's.
    fn figures(&self, run: &mut Run) {
        let back = (self.way.direction == Direction::Both).then(|| self.sums(true));
        let received_back = back.and_then(|back| back.received.or(back.derived()));
        run.sums(&self.sums(false), received_back.filter(|rate| *rate > 0.0));
        let cpu = self.end.node("cpu_utilization_percent");
        for (end, key) in [
            (self.way.own(), "host_total"),
            (self.way.own().other(), "remote_total"),
        ] {
            let share = cpu
                .number(key)
                .filter(|_| !self.way.is_server || end == self.way.own());
            run.figure(&format!("{}_process_cpu_pct", end.name()), share);
        }
    }
}

/// A sum of the direction from client to server, or of the one back. Versions up to 3.10 write those
/// of both by one name, in this order.
fn sum<'a>(of: &Node<'a>, name: &str, is_back: bool) -> Option<Node<'a>> {
    let mut own = of.values(name);
    let raw = match is_back {
        true => own.nth(1).or(of.values(&format!("{name}{BACK}")).next()),
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

/// An interval: sums over the flows of the test's own direction; means over them for round-trip time
/// and congestion window.
fn interval(run: &mut Run, interval: &Node) {
    let flows = interval.nodes("streams");
    let sum = sum(interval, "sum", false).or(flows.first().cloned());
    let sum = sum.unwrap_or_default();
    if sum.get("omitted") == Some("true") {
        return;
    }
    let end = match sum.get("sender") {
        Some("false") => Role::Receiver,
        _ => Role::Sender,
    };
    // 0 means *not measured*, because times and windows are never 0.
    let mean_of = |key| mean(flows.iter().filter_map(|flow| flow.positive(key)));
    let (rate, jitter) = (sum.number("bits_per_second"), sum.number("jitter_ms"));
    let figures = [
        ("congestion_window_bytes", mean_of("snd_cwnd")),
        ("jitter_us", jitter.map(|ms| ms * 1000.0)),
        ("loss_pct", sum.number("lost_percent")),
        ("retransmits", sum.number("retransmits")),
        ("rtt_us", mean_of("rtt")),
        ("throughput_mbps", rate.map(|bits| bits / 1e6)),
    ];
    run.interval(end, [sum.number("start"), sum.number("end")], &figures);
}
