//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events, one a line.

use std::collections::HashSet;

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::json::{self, MOST_ELEMENTS, Node, documents, without_nan};
use crate::run::{Done, Run, Runs, Sums, Way, mean};

pub(crate) fn is(text: &str) -> bool {
    let has = |keys: [&str; 2]| keys.iter().all(|key| text.contains(key));
    text.contains('{')
        && !text.contains("\"execution_began\"")
        && (has(["\"start\"", "\"end\""]) || has(["\"event\"", "\"data\""]))
}

fn is_document(node: &Node) -> bool {
    let is = |(key, begin)| node.get(key).is_some_and(|value| value.starts_with(begin));
    let mut parts = [("start", '{'), ("end", '{'), ("intervals", '[')].into_iter();
    node.get("event").is_some() && node.get("data").is_some() || parts.any(is)
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Done {
    let text = without_nan(text);
    let mut reader = Reader {
        file,
        runs,
        document: None,
        is_of_events: false,
    };
    let broken = documents(&text, is_document, &mut |node| reader.take(node))?;
    reader.end()?;
    let is_one = runs.all.len() == 1;
    let Some(last) = runs.all.last_mut() else {
        return Err(match broken {
            Some(why) => format!("its JSON cannot be read: {why}"),
            None => "it has no result of iperf3 (`start`, `intervals`, `end`)".to_owned(),
        });
    };
    if let Some(broken) = broken {
        last.note(format!("{file}: {broken}"));
    }
    last.imported.place.take_if(|_| is_one);
    Ok(())
}

/// Takes documents, and combines the events of each stream (`--json-stream`) into the one that
/// iperf3 would otherwise have written. `--json-stream-full-output` writes the whole document after
/// its events; it then replaces them.
struct Reader<'a, 'r> {
    file: &'r str,
    runs: &'r mut Runs,
    document: Option<Node<'a>>,
    is_of_events: bool,
}

impl<'a> Reader<'a, '_> {
    fn take(&mut self, node: Node<'a>) -> Done {
        let Some(event) = node.text("event") else {
            self.document.take_if(|_| self.is_of_events);
            self.end()?;
            (self.document, self.is_of_events) = (Some(node), false);
            return Ok(());
        };
        // The server's output may come before the client's start.
        let is_begun = |(key, _): &(String, &RawValue)| !key.starts_with("server_output");
        let is_new =
            |last: &Node| !self.is_of_events || event == "start" && last.0.iter().any(is_begun);
        if self.document.as_ref().is_some_and(is_new) {
            self.end()?;
        }
        self.is_of_events = true;
        let last = self.document.get_or_insert_default();
        let data = node.values("data").next_back();
        let data = data.filter(|_| last.0.len() < MOST_ELEMENTS);
        last.0.extend(data.map(|data| (event, data)));
        Ok(())
    }

    fn end(&mut self) -> Done {
        let Some(node) = self.document.take() else {
            return Ok(());
        };
        let within = node.node("intervals").0.into_iter();
        let within = within.map(|(_, interval)| interval);
        let intervals: Vec<_> = node.values("interval").chain(within).collect();
        let test = Test::of(&node, intervals.first());
        let mut run = Run::of("iperf3", self.file);
        run.imported.place = Some(format!("document {}", self.runs.all.len() + 1));
        let version = test.start.text("version");
        run.imported.tool_version =
            version.map(|version| version.trim_start_matches("iperf ").to_owned());
        let seconds = test.start.node("timestamp").number("timesecs");
        let began = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
        run.imported.began_at = began.map(|at| at.to_string());
        test.levels(&mut run, node.text("title"));
        test.figures(&mut run);
        run.cookie = test.start.text("cookie");
        run.is_server = test.way.is_server;
        for raw in &intervals {
            interval(&mut run, &Node::of(raw));
        }
        run.error = node.text("error");
        if run.error.is_none() && run.imported.figures.is_empty() {
            let silent = "the document has no result (its `end` is empty): the test did not finish";
            run.error = Some(silent.to_owned());
        }
        self.runs.push(run)
    }
}

struct Test<'a> {
    start: Node<'a>,
    test: Node<'a>,
    end: Node<'a>,
    way: Way,
}

impl<'a> Test<'a> {
    fn of(node: &Node<'a>, first: Option<&&'a RawValue>) -> Test<'a> {
        let (start, end) = (node.node("start"), node.node("end"));
        let test = start.node("test_start");
        let first = first.map_or_else(Node::default, |raw| Node::of(raw));
        // Versions up to 3.16 do not say it in their start; the sums do, and up to 3.10 the flows.
        let mut sums = end.0.iter().chain(&first.0);
        let has_back = sums.any(|(name, _)| name.ends_with("_bidir_reverse"));
        let of_end = end.nodes("streams").into_iter();
        let of_end = of_end.flat_map(|flow| [flow.node("sender"), flow.node("udp")]);
        let flows = first.nodes("streams").into_iter().chain(of_end);
        let ways: HashSet<bool> = flows.filter_map(|flow| flow.flag("sender")).collect();
        let says = |key| test.positive(key).is_some();
        let is_both = has_back || says("bidir") || says("bidirectional") || ways.len() == 2;
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
        // The addresses of the host that wrote the document, and of the other.
        let flow = start.nodes("connected").into_iter().next();
        let flow = flow.unwrap_or_default();
        let control = ["connecting_to", "accepted_connection"].map(|key| start.node(key));
        let remote = control.iter().find_map(|of| of.text("host"));
        let hosts = [flow.text("local_host"), remote.or(flow.text("remote_host"))];
        let plain = |host: String| host.trim_start_matches("::ffff:").to_owned();
        self.way.hosts(run, hosts.map(|host| host.map(plain)));
        let direction = self.way.direction.name().to_owned();
        let protocol = test.text("protocol").map(|name| name.to_ascii_lowercase());
        for (factor, value) in [
            ("direction", Some(direction).filter(|_| !test.0.is_empty())),
            ("protocol", protocol),
            ("brand", title.or(start.text("title"))),
            ("congestion_control", self.end.text("sender_tcp_congestion")),
        ] {
            value.into_iter().for_each(|value| run.level(factor, value));
        }
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

    /// A sum of the test's own direction, or of the opposite one. Versions up to 3.10 write those
    /// of both by one name; `sender` says whether the document's host sends.
    fn sum(&self, name: &str, is_back: bool) -> Node<'a> {
        let mut all: Vec<Node> = self.end.values(name).map(Node::of).collect();
        if self.way.direction != Direction::Both || all.len() < 2 {
            return match is_back {
                true => self.end.node(&format!("{name}_bidir_reverse")),
                false => all.pop().unwrap_or_default(),
            };
        }
        let is_way = |sum: &Node| sum.flag("sender") == Some(is_back == self.way.is_server);
        let at = all.iter().position(is_way).unwrap_or(usize::from(is_back));
        all.swap_remove(at)
    }

    fn sums(&self, is_back: bool) -> Sums {
        let [mut sent, mut received, sum] =
            ["sum_sent", "sum_received", "sum"].map(|name| self.sum(name, is_back));
        // A server's document has zeros for the end that it does not describe.
        let far = self.way.is_server.then(|| match is_back {
            true => self.way.own(),
            false => self.way.own().other(),
        });
        // Where a UDP document has only this sum, it is the sender's.
        let is_alone = sent.0.is_empty() && far != Some(Role::Sender);
        for (end, of) in [(Role::Sender, &mut sent), (Role::Receiver, &mut received)] {
            if far == Some(end) && of.positive("bytes").is_none() {
                *of = Node::default();
            }
        }
        let is_datagrams = !sum.0.is_empty();
        let lost = match received.positive("packets") {
            _ if !is_datagrams => None,
            Some(_) => Some(&received),
            None => (far != Some(Role::Receiver)).then_some(&sum),
        };
        let of_lost = |key| lost.and_then(|lost| lost.number(key));
        Sums {
            sent: rate_mbps(if is_alone { &sum } else { &sent }),
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
        let back = Some(self.sums(true)).filter(|_| self.way.direction == Direction::Both);
        let received_back = back
            .and_then(|back| back.received.or(back.derived()))
            .filter(|rate| *rate > 0.0);
        run.sums(&self.sums(false), received_back);
        for (name, raw) in &self.end.node("cpu_utilization_percent").0 {
            let (is_remote, own) = (name.starts_with("remote"), self.way.own());
            let share = json::number(raw.get()).filter(|_| !(is_remote && self.way.is_server));
            let end = if is_remote { own.other() } else { own };
            if name.ends_with("_total") {
                run.figure(&format!("{}_process_cpu_pct", end.name()), share);
            }
        }
    }
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
    let sum = interval.values("sum").next().map(Node::of);
    let sum = sum.or(flows.first().cloned()).unwrap_or_default();
    if sum.flag("omitted") == Some(true) {
        return;
    }
    let end = match sum.flag("sender") {
        Some(false) => Role::Receiver,
        _ => Role::Sender,
    };
    let (rate, jitter) = (sum.number("bits_per_second"), sum.number("jitter_ms"));
    let figures = [
        ("throughput_mbps", rate.map(|bits| bits / 1e6)),
        ("retransmits", sum.number("retransmits")),
        ("loss_pct", sum.number("lost_percent")),
        ("jitter_us", jitter.map(|ms| ms * 1000.0)),
        ("rtt_us", mean_of(&flows, "rtt")),
        ("congestion_window_bytes", mean_of(&flows, "snd_cwnd")),
    ];
    let span = ["start", "end"].map(|key| sum.number(key).unwrap_or(f64::NAN));
    run.interval(end, span, &figures);
}

/// The mean over the flows; 0 means *not measured*, because times and windows are never 0.
fn mean_of(flows: &[Node], key: &str) -> Option<f64> {
    mean(flows.iter().filter_map(|flow| flow.positive(key)))
}
