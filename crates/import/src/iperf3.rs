//! iperf3's JSON, 3.1 to 3.21: of a client, of a server (one document per test), and as a stream of
//! events, one a line.

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use jiff::Timestamp;
use serde_json::value::RawValue;

use crate::execution::WRITTEN_BY;
use crate::json::{self, Documents, MOST_KEYS, Object, without_nan};
use crate::run::{Run, Runs, Way};

pub(crate) fn is(text: &str) -> bool {
    let has = |keys: [&str; 2]| keys.iter().all(|key| text.contains(key));
    text.contains('{')
        && !text.contains("\"execution_began\"")
        && (has(["\"start\"", "\"end\""]) || has(["\"event\"", "\"data\""]))
}

fn is_document(object: &Object) -> bool {
    let is = |key, begin: char| {
        object
            .get(key)
            .is_some_and(|value| value.starts_with(begin))
    };
    (object.get("event").is_some() && object.get("data").is_some())
        || is("start", '{')
        || is("end", '{')
        || is("intervals", '[')
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Result<(), String> {
    let text = without_nan(text);
    let mut reader = Reader {
        file,
        runs,
        document: None,
    };
    let broken = Documents::each(&text, is_document, &mut |object| reader.take(object))?;
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
    object: Object<'a>,
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
    fn take(&mut self, object: Object<'a>) -> Result<(), String> {
        let Some(event) = object.text("event") else {
            self.document.take_if(|last| last.is_of_events);
            self.end()?;
            self.document = Some(Document {
                intervals: object.list("intervals"),
                object,
                is_of_events: false,
            });
            return Ok(());
        };
        // The server's output may come before the client's start.
        let is_begun = |last: &Document| {
            let mut keys = last.object.0.iter();
            !last.intervals.is_empty() || keys.any(|(key, _)| !key.starts_with("server_output"))
        };
        let is_new = |last: &Document| !last.is_of_events || event == "start" && is_begun(last);
        if self.document.as_ref().is_some_and(is_new) {
            self.end()?;
        }
        let last = self.document.get_or_insert_with(|| Document {
            is_of_events: true,
            ..Document::default()
        });
        match object.0.into_iter().rfind(|(key, _)| key == "data") {
            Some((_, data)) if event == "interval" => last.intervals.push(data),
            Some((_, data)) if last.object.0.len() < MOST_KEYS => {
                last.object.0.push((event, data));
            }
            _ => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), String> {
        let Some(document) = self.document.take() else {
            return Ok(());
        };
        let mut run = document.run(self.file);
        run.imported.place = Some(format!("document {}", self.runs.count + 1));
        self.runs.push(run)
    }
}

impl Document<'_> {
    fn run(&self, file: &str) -> Run {
        let test = Test::of(self);
        let mut run = Run::of("iperf3", file);
        let start = &test.start;
        let version = start.text("version");
        run.imported.tool_version =
            version.map(|version| version.trim_start_matches("iperf ").to_owned());
        let seconds = start.object("timestamp").number("timesecs");
        let began = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
        run.imported.began_at = began.map(|at| at.to_string());
        test.levels(&mut run, self.object.text("title"));
        test.sums(&mut run);
        test.process_cpu(&mut run);
        test.facts(&mut run);
        self.intervals
            .iter()
            .filter_map(|raw| json::of(raw))
            .for_each(|of| interval(&mut run, &of));
        run.error = self.object.text("error");
        if run.error.is_none() && run.imported.figures.is_empty() {
            let silent = "the document has no result (its `end` is empty): the test did not finish";
            run.error = Some(silent.to_owned());
        }
        run
    }
}

struct Test<'a> {
    start: Object<'a>,
    test: Object<'a>,
    end: Object<'a>,
    way: Way,
}

impl<'a> Test<'a> {
    fn of(document: &Document<'a>) -> Test<'a> {
        let start = document.object.object("start");
        let (test, end) = (start.object("test_start"), document.object.object("end"));
        let first = document
            .intervals
            .first()
            .and_then(|raw| json::of(raw))
            .unwrap_or_default();
        // Versions up to 3.16 do not say it in their start; the sums do, and up to 3.10 the flows.
        let has_both = |sums: &Object| {
            sums.0
                .iter()
                .any(|(name, _)| name.ends_with("_bidir_reverse"))
        };
        let flows = first.objects("streams");
        let of_end = end.objects("streams").into_iter();
        let of_end = of_end.flat_map(|flow| [flow.object("sender"), flow.object("udp")]);
        let ways: Vec<bool> = flows
            .into_iter()
            .chain(of_end)
            .filter_map(|flow| flow.flag("sender"))
            .collect();
        let says = |key: &&str| test.positive(key).is_some();
        let is_both = has_both(&end)
            || has_both(&first)
            || ["bidir", "bidirectional"].iter().any(says)
            || ways.contains(&true) && ways.contains(&false);
        let direction = match says(&"reverse") {
            _ if is_both => Direction::Both,
            true => Direction::Reverse,
            false => Direction::Forward,
        };
        // Only a server's document names the connection that it accepted.
        let is_server = start.get("accepted_connection").is_some();
        Test {
            way: Way {
                direction,
                is_server,
            },
            start,
            test,
            end,
        }
    }

    /// The requested settings of the test. The title is next to the start, or in some versions
    /// inside it.
    fn levels(&self, run: &mut Run, title: Option<String>) {
        let (start, test) = (&self.start, &self.test);
        self.way.hosts(run, self.hosts());
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

    /// The addresses of the host that wrote the document, and of the other.
    fn hosts(&self) -> [Option<String>; 2] {
        let flow = self
            .start
            .objects("connected")
            .into_iter()
            .next()
            .unwrap_or_default();
        let control = ["connecting_to", "accepted_connection"].map(|key| self.start.object(key));
        let remote = control.iter().find_map(|of| of.text("host"));
        let hosts = [flow.text("local_host"), remote.or(flow.text("remote_host"))];
        hosts.map(|host| host.map(|host| host.trim_start_matches("::ffff:").to_owned()))
    }

    /// A sum of the test's own direction, or of the opposite one. Versions up to 3.10 write those
    /// of both by one name; `sender` says whether the document's host sends.
    fn sum(&self, name: &str, is_back: bool) -> Object<'a> {
        let mut all = self.end.all(name);
        if self.way.direction != Direction::Both || all.len() < 2 {
            return match is_back {
                true => self.end.object(&format!("{name}_bidir_reverse")),
                false => all.pop().unwrap_or_default(),
            };
        }
        let is_way = |sum: &Object| sum.flag("sender") == Some(is_back == self.way.is_server);
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
                *of = Object::default();
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
        let [sent, received, retransmits, loss, jitter] = self.direction(false);
        run.figure("send_throughput_mbps", sent);
        run.figure("throughput_mbps", received);
        run.figure("retransmits", retransmits);
        run.figure("loss_pct", loss);
        run.figure("jitter_us", jitter);
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
        let cpu = self.end.object("cpu_utilization_percent");
        let (own, is_server) = (self.way.own(), self.way.is_server);
        let remote = cpu.number("remote_total").filter(|_| !is_server);
        for (end, share) in [(own, cpu.number("host_total")), (own.other(), remote)] {
            run.figure(&format!("{}_process_cpu_pct", end.name()), share);
        }
        for (name, raw) in &cpu.0 {
            let is_known = !(is_server && name.starts_with("remote"));
            if let Some(value) = json::number(raw).filter(|_| is_known) {
                run.fact(&format!("cpu_{name}_pct_of_one_cpu"), value);
            }
        }
    }

    fn facts(&self, run: &mut Run) {
        let writer = ["client", "server"][usize::from(self.way.is_server)];
        run.fact(WRITTEN_BY, writer);
        for (name, raw) in self.start.0.iter().chain(&self.end.0) {
            if let Some(text) = json::text(raw) {
                run.fact(name, text);
            } else if let Some(count) = json::number(raw).filter(|count| *count > 0.0) {
                run.fact(name, count);
            }
        }
        let flows = self.end.objects("streams");
        let flows: Vec<Object> = flows.iter().map(|flow| flow.object("sender")).collect();
        if let Some(mean) = mean_of(&flows, "mean_rtt") {
            run.fact("mean_rtt_us", mean);
        }
    }
}

/// Bytes divided by the time in which they were counted. Some versions divide the receiver's bytes
/// by the sender's time for the rate in the file.
fn rate_mbps(sum: &Object) -> Option<f64> {
    let seconds = sum
        .number("end")
        .map(|end| end - sum.number("start").unwrap_or(0.0));
    match sum
        .number("bytes")
        .zip(seconds.filter(|seconds| *seconds > 0.0))
    {
        Some((bytes, seconds)) => Some(bytes * 8.0 / 1e6 / seconds),
        None => Some(sum.number("bits_per_second")? / 1e6),
    }
}

/// An interval: sums over the flows of the test's own direction; means over them for round-trip time
/// and congestion window.
fn interval(run: &mut Run, interval: &Object) {
    let flows = interval.objects("streams");
    let sum = interval
        .all("sum")
        .into_iter()
        .next()
        .or(flows.first().cloned());
    let sum = sum.unwrap_or_default();
    let Some(begin) = sum
        .number("start")
        .filter(|_| sum.flag("omitted") != Some(true))
    else {
        return;
    };
    let end = match sum.flag("sender") {
        Some(false) => Role::Receiver,
        _ => Role::Sender,
    };
    let figures = [
        (
            "throughput_mbps",
            sum.number("bits_per_second").map(|bits| bits / 1e6),
        ),
        ("retransmits", sum.number("retransmits")),
        ("loss_pct", sum.number("lost_percent")),
        ("jitter_us", sum.number("jitter_ms").map(|ms| ms * 1000.0)),
        ("rtt_us", mean_of(&flows, "rtt")),
        ("congestion_window_bytes", mean_of(&flows, "snd_cwnd")),
    ];
    let end_s = sum.number("end").unwrap_or(f64::NAN);
    run.interval(end, [begin, end_s], &figures);
}

/// The mean over the flows; 0 means *not measured*, because times and windows are never 0.
fn mean_of(flows: &[Object], key: &str) -> Option<f64> {
    mean(flows.iter().filter_map(|flow| flow.positive(key)))
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
