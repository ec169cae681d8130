//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events, one a line.

use std::collections::HashSet;

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::execution::WRITTEN_BY;
use crate::json::{self, MOST_KEYS, Node, documents, without_nan};
use crate::run::{Run, Runs, Way};

pub(crate) fn is(text: &str) -> bool {
    let has = |keys: [&str; 2]| keys.iter().all(|key| text.contains(key));
    text.contains('{')
        && !text.contains("\"execution_began\"")
        && (has(["\"start\"", "\"end\""]) || has(["\"event\"", "\"data\""]))
}

fn is_document(node: &Node) -> bool {
    let is = |(key, begin)| node.get(key).is_some_and(|value| value.starts_with(begin));
    node.get("event").is_some() && node.get("data").is_some()
        || [("start", '{'), ("end", '{'), ("intervals", '[')]
            .into_iter()
            .any(is)
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Result<(), String> {
    let text = without_nan(text);
    let mut reader = Reader {
        file,
        runs,
        document: None,
    };
    let broken = documents(&text, is_document, &mut |node| reader.take(node))?;
    reader.end()?;
    let is_one = runs.count == 1;
    let Some(last) = runs.last() else {
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

#[derive(Default)]
struct Document<'a> {
    node: Node<'a>,
    /// Those that were events of their own.
    intervals: Vec<&'a RawValue>,
    is_of_events: bool,
}

/// Takes documents, and combines the events of each stream (`--json-stream`) into the one that
/// iperf3 would otherwise have written. `--json-stream-full-output` writes the whole document after
/// its events; it then replaces them.
struct Reader<'a, 'r, 't> {
    file: &'r str,
    runs: &'r mut Runs<'t>,
    document: Option<Document<'a>>,
}

impl<'a> Reader<'a, '_, '_> {
    fn take(&mut self, node: Node<'a>) -> Result<(), String> {
        let Some(event) = node.text("event") else {
            self.document.take_if(|last| last.is_of_events);
            self.end()?;
            self.document = Some(Document {
                node,
                ..Document::default()
            });
            return Ok(());
        };
        // The server's output may come before the client's start.
        let is_begun = |last: &Document| {
            let mut keys = last.node.0.iter();
            !last.intervals.is_empty() || keys.any(|(key, _)| !key.starts_with("server_output"))
        };
        let is_new = |last: &Document| !last.is_of_events || event == "start" && is_begun(last);
        if self.document.as_ref().is_some_and(is_new) {
            self.end()?;
        }
        let last = self.document.get_or_insert_default();
        last.is_of_events = true;
        match node.values("data").next_back() {
            Some(data) if event == "interval" => last.intervals.push(data),
            Some(data) if last.node.0.len() < MOST_KEYS => last.node.0.push((event, data)),
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(mut document) = self.document.take() else {
            return Ok(());
        };
        let within = document.node.node("intervals").0.into_iter();
        document
            .intervals
            .extend(within.map(|(_, interval)| interval));
        let mut run = document.run(self.file);
        run.imported.place = Some(format!("document {}", self.runs.count + 1));
        self.runs.push(run)
    }
}

impl Document<'_> {
    fn run(&self, file: &str) -> Run {
        let test = Test::of(self);
        let mut run = Run::of("iperf3", file);
        let version = test.start.text("version");
        run.imported.tool_version =
            version.map(|version| version.trim_start_matches("iperf ").to_owned());
        let seconds = test.start.node("timestamp").number("timesecs");
        let began = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
        run.imported.began_at = began.map(|at| at.to_string());
        test.levels(&mut run, self.node.text("title"));
        test.sums(&mut run);
        test.process_cpu(&mut run);
        test.facts(&mut run);
        for raw in &self.intervals {
            interval(&mut run, &Node::of(raw));
        }
        run.error = self.node.text("error");
        if run.error.is_none() && run.imported.figures.is_empty() {
            let silent = "the document has no result (its `end` is empty): the test did not finish";
            run.error = Some(silent.to_owned());
        }
        run
    }
}

struct Test<'a> {
    start: Node<'a>,
    test: Node<'a>,
    end: Node<'a>,
    way: Way,
}

impl<'a> Test<'a> {
    fn of(document: &Document<'a>) -> Test<'a> {
        let start = document.node.node("start");
        let (test, end) = (start.node("test_start"), document.node.node("end"));
        let first = document.intervals.first();
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
        let direction = match says("reverse") {
            _ if is_both => Direction::Both,
            true => Direction::Reverse,
            false => Direction::Forward,
        };
        // Only a server's document names the connection that it accepted.
        let is_server = start.get("accepted_connection").is_some();
        let way = Way {
            direction,
            is_server,
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
        let flow = start
            .nodes("connected")
            .into_iter()
            .next()
            .unwrap_or_default();
        let control = ["connecting_to", "accepted_connection"].map(|key| start.node(key));
        let remote = control.iter().find_map(|of| of.text("host"));
        let hosts = [flow.text("local_host"), remote.or(flow.text("remote_host"))];
        let plain = |host: String| host.trim_start_matches("::ffff:").to_owned();
        self.way.hosts(run, hosts.map(|host| host.map(plain)));
        if !test.0.is_empty() {
            run.level("direction", self.way.direction.name());
        }
        let protocol = test.text("protocol").map(|name| name.to_ascii_lowercase());
        for (factor, value) in [
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

    /// Of a direction: the rates that were sent and received, retransmissions, and of datagrams the
    /// loss in per cent and the jitter in µs.
    fn direction(&self, is_back: bool) -> [Option<f64>; 5] {
        let [mut sent, mut received, sum] =
            ["sum_sent", "sum_received", "sum"].map(|name| self.sum(name, is_back));
        let own = match is_back {
            true => self.way.own().other(),
            false => self.way.own(),
        };
        let far = self.way.is_server.then(|| own.other());
        // Where a UDP document has only this sum, it is the sender's.
        let is_alone = sent.0.is_empty() && far != Some(Role::Sender);
        // A server's document has zeros for the end that it does not describe.
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
        [
            rate_mbps(if is_alone { &sum } else { &sent }),
            rate_mbps(&received),
            sent.number("retransmits").filter(|_| !is_datagrams),
            of_lost("lost_percent"),
            of_lost("jitter_ms").map(|ms| ms * 1000.0),
        ]
    }

    fn sums(&self, run: &mut Run) {
        let own = self.direction(false);
        let names = [
            "send_throughput_mbps",
            "throughput_mbps",
            "retransmits",
            "loss_pct",
            "jitter_us",
        ];
        for (name, value) in names.into_iter().zip(own) {
            run.figure(name, value);
        }
        run.derive_received();
        if self.way.direction == Direction::Both {
            let [sent, received, _, loss, _] = self.direction(true);
            let derived = sent
                .zip(loss)
                .map(|(sent, lost)| sent * (1.0 - lost / 100.0));
            let received = received.or(derived).filter(|rate| *rate > 0.0);
            run.figure("background_throughput_mbps", received);
        }
    }

    /// CPU time of iperf3's process at each endpoint that the document describes. `host` is where
    /// the document was written: the client, unless it is a server's, which does not know the
    /// client's.
    fn process_cpu(&self, run: &mut Run) {
        let cpu = self.end.node("cpu_utilization_percent");
        for (name, raw) in &cpu.0 {
            let is_remote = name.starts_with("remote");
            let share = json::number(raw.get()).filter(|_| !(is_remote && self.way.is_server));
            let end = match is_remote {
                true => self.way.own().other(),
                false => self.way.own(),
            };
            if name.ends_with("_total") {
                run.figure(&format!("{}_process_cpu_pct", end.name()), share);
            }
            let name = format!("cpu_{name}_pct_of_one_cpu");
            share.into_iter().for_each(|share| run.fact(&name, share));
        }
    }

    fn facts(&self, run: &mut Run) {
        run.fact(
            WRITTEN_BY,
            if self.way.is_server {
                "server"
            } else {
                "client"
            },
        );
        for (name, raw) in self.start.0.iter().chain(&self.end.0) {
            if let Ok(text) = serde_json::from_str::<String>(raw.get()) {
                run.fact(name, text);
            } else if let Some(count) = json::number(raw.get()).filter(|count| *count > 0.0) {
                run.fact(name, count);
            }
        }
        let flows = self.end.nodes("streams").into_iter();
        let flows: Vec<Node> = flows.map(|flow| flow.node("sender")).collect();
        let mean = mean_of(&flows, "mean_rtt");
        mean.into_iter()
            .for_each(|mean| run.fact("mean_rtt_us", mean));
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
    let rate = sum.number("bits_per_second");
    let jitter = sum.number("jitter_ms");
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

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
