//! What iperf3, iperf 2, nuttcp and nttcp print without JSON: rates of iperf, a table of the forms of
//! other lines, and the runs that these lines make.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;

use crate::run::{Done, Run, Runs, Sums, Way, mbps, mean};

/// The longest line that can be one of these, in bytes, and in how many lines one must be.
const LINE_BYTES: usize = 1000;
const HEAD_LINES: usize = 10_000;

/// All flows, as version 2 writes them in CSV.
const SUM: i32 = -1;

/// The most flows of a run, the most of its lines that are kept, and of those that may be totals.
const MOST_FLOWS: usize = 10_000;
const MOST_RATES: usize = 200_000;

/// What each line of a form is, its program, a part that it has, and its words.
static FORMS: LazyLock<Vec<[&str; 4]>> = LazyLock::new(|| {
    let lines = include_str!("text.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| {
        let mut parts = line.split(" | ");
        [(); 4].map(|()| parts.next().unwrap_or_default())
    });
    rows.collect()
});

/// A line that has a form, and its words by the names that the form gives them.
struct Line<'a> {
    is: &'static str,
    tool: &'static str,
    text: &'a str,
    words: HashMap<&'static str, &'a str>,
}

/// The words at the places that a form names.
fn named<'a>(fields: &'static str, words: &[&'a str]) -> Option<HashMap<&'static str, &'a str>> {
    let mut named = HashMap::new();
    for field in fields.split_whitespace() {
        let mut parts = field.splitn(3, ':');
        let (name, steps, anchor) = (parts.next()?, parts.next()?, parts.next()?);
        let place = words.iter().position(|word| *word == anchor);
        let place = place.map_or((anchor == "^").then_some(-1), |place| Some(place as isize));
        let steps: isize = steps.parse().ok()?;
        let word = place.and_then(|place| words.get(usize::try_from(place + steps).ok()?));
        match word.filter(|word| !name.ends_with('!') || number(word).is_some()) {
            None if name.ends_with('?') => None,
            word => named.insert(name.trim_end_matches(['!', '?']), *word?),
        };
    }
    Some(named)
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Option<Line<'a>> {
        let words = text.split([' ', '\t', '=', '[', ']', '(', ')', ',']);
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let mut forms = FORMS.iter().filter(|[_, _, mark, _]| text.contains(mark));
        let (&[is, tool, ..], words) =
            forms.find_map(|form| Some((form, named(form[3], &words)?)))?;
        Some(Line {
            is,
            tool,
            text,
            words,
        })
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        self.words.get(name).copied()
    }

    fn number(&self, name: &str) -> Option<f64> {
        number(self.word(name)?)
    }

    fn loss_pct(&self) -> Option<f64> {
        loss_pct(self.word("lost")?, self.word("of")?)
    }
}

fn number(word: &str) -> Option<f64> {
    word.trim_end_matches('%').parse().ok()
}

/// The share of lost datagrams in per cent. Duplicates can make the count negative, which says
/// nothing.
fn loss_pct(lost: &str, of: &str) -> Option<f64> {
    let (lost, of) = number(lost).zip(number(of))?;
    (of > 0.0 && lost >= 0.0).then(|| 100.0 * lost / of)
}

/// The flow that a line is about; absent for `FD`, the sum of both directions.
fn flow(word: &str) -> Option<i32> {
    match word {
        "SUM" => Some(SUM),
        id => id.parse().ok(),
    }
}

pub(crate) fn is(text: &str) -> bool {
    let own = ["interval", "failure", "head", "half", "result"];
    let is_own = |line| {
        Rate::of(line).is_some() || Line::of(line).is_some_and(|line| own.contains(&line.is))
    };
    let mut lines = text.lines().take(HEAD_LINES);
    lines.any(|line| line.len() <= LINE_BYTES && is_own(line))
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Done {
    let mut reader = Reader {
        file,
        ..Reader::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        if line.len() > LINE_BYTES || line.contains("(omitted)") {
            continue;
        }
        reader.number = number;
        if let Some((rate, hosts)) = Rate::of(line) {
            reader.rate(rate, hosts, runs)?;
        } else if let Some(line) = Line::of(line) {
            reader.line(&line, runs)?;
        }
    }
    reader.end(runs)
}

/// A line of iperf with the rate of one flow, or of all (`SUM`; −1 in CSV).
struct Rate {
    id: i32,
    is_back: bool,
    /// The end that counted, where the line says it.
    end: Option<Role>,
    span: [f64; 2],
    mbps: f64,
    again: Option<u32>,
    loss_pct: Option<f64>,
    jitter_us: Option<f64>,
}

type Hosts<'a> = [Option<&'a str>; 2];

impl Rate {
    /// The rate in a line, and the hosts that only CSV names.
    fn of(line: &str) -> Option<(Rate, Hosts<'_>)> {
        match line.split_once(" sec ") {
            Some((head, tail)) => Some((Rate::of_text(head, tail)?, [None; 2])),
            None => Rate::of_csv(line),
        }
    }

    /// `[  5][TX-C]  0.00-1.00  sec  110 MBytes  923 Mbits/sec  0.08 ms  0/22823 (0%)  sender`
    fn of_text(head: &str, tail: &str) -> Option<Rate> {
        let (ids, span) = head.rsplit_once(']')?;
        let (begin, end) = span.split_once('-')?;
        let mut ids = ids.rsplit(['[', ']']).filter(|part| !part.is_empty());
        let mut id = ids.next()?;
        let is_back = ["RX-C", "TX-S"].contains(&id);
        if is_back || ["TX-C", "RX-S"].contains(&id) {
            id = ids.next()?;
        }
        let words: Vec<&str> = tail.split_whitespace().collect();
        let [_, bytes, rate, unit, rest @ ..] = &words[..] else {
            return None;
        };
        let unit = unit.strip_suffix("/sec");
        let unit = unit.filter(|_| bytes.ends_with("Bytes"))?;
        // `0/ 893 (0%)` of version 2 is two words.
        let (jitter, counts) = match rest {
            [jitter, "ms", counts @ ..] => (number(jitter), counts.concat()),
            _ => (None, String::new()),
        };
        let counts = counts.split_once('/');
        let again = rest.first().and_then(|word| word.parse().ok());
        let has = |word| rest.iter().any(|one| one.contains(word));
        Some(Rate {
            id: flow(id.trim())?,
            is_back,
            end: match has("sender") {
                true => Some(Role::Sender),
                false => has("receiver").then_some(Role::Receiver),
            },
            span: [number(begin.trim())?, number(end.trim())?],
            mbps: mbps(number(rate)?, unit)?,
            again: again.filter(|_| jitter.is_none()),
            loss_pct: counts
                .and_then(|(lost, of)| loss_pct(lost, of.split('(').next().unwrap_or_default())),
            jitter_us: jitter.map(|ms| ms * 1000.0),
        })
    }

    /// `20260101000000,10.0.0.1,40000,10.0.0.2,5001,3,0.0-1.0,BYTES,BITS,JITTER,LOST,OF,…`
    fn of_csv(line: &str) -> Option<(Rate, Hosts<'_>)> {
        let parts: Vec<&str> = line.split(',').collect();
        let [at, local, _, remote, _, id, span, _, rate, rest @ ..] = &parts[..] else {
            return None;
        };
        let at = at.rsplit(':').next().filter(|at| at.len() >= 14)?;
        number(at)?;
        let rest = match rest {
            [jitter, lost, of, ..] => format!("{jitter} ms {lost}/{of}"),
            _ => String::new(),
        };
        let (head, tail) = (
            format!("[{id}]{span}"),
            format!("0 Bytes {rate} bits/sec {rest}"),
        );
        Some((Rate::of_text(&head, &tail)?, [Some(local), Some(remote)]))
    }

    /// Its flow and way, and whether their sender counted it.
    fn flow(&self) -> (i32, bool, Option<bool>) {
        let is_sent = self.end.map(|end| end == Role::Sender);
        (self.id, self.is_back, is_sent)
    }

    fn is_sum(&self) -> bool {
        self.id == SUM
    }

    /// A total, or the first interval.
    fn may_be_total(&self) -> bool {
        self.span[0] == 0.0 || self.end.is_some()
    }
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    number: u64,
    /// What is known of the run that is being read.
    run: Option<Run>,
    rates: Vec<Rate>,
    /// Whether there are sums of all flows in an interval, of each way.
    has_sums: [bool; 2],
    /// Those of which lines that may be totals are, and those with intervals after the first.
    flows: HashSet<(i32, bool, Option<bool>)>,
    going: HashSet<(i32, bool)>,
    /// The port of version 2's listener, and the flows that come to it at the client.
    port: Option<String>,
    backs: HashSet<i32>,
    way: Way,
    /// The hosts of the first flow, the local one first: of both directions, those of the client's.
    hosts: [Option<String>; 2],
    is_udp: bool,
    is_report: bool,
    /// The totals say which end counted.
    has_words: bool,
    is_three: bool,
    /// The length of nuttcp's intervals so far.
    seconds: f64,
}

impl Reader<'_> {
    fn run(&mut self, tool: &str) -> &mut Run {
        self.run.get_or_insert_with(|| {
            let mut run = Run::of(tool, self.file);
            run.imported.place = Some(format!("line {}", self.number));
            run
        })
    }

    fn line(&mut self, line: &Line, runs: &mut Runs) -> Done {
        let (is, tool) = (line.is, line.tool);
        match is {
            "begin" | "accept" | "head" => {
                self.end(runs)?;
                self.way = Way {
                    direction: Direction::Forward,
                    is_server: is == "accept",
                };
                self.is_udp = line.word("udp").is_some();
                self.port = line.word("port").map(str::to_owned);
                if is == "head" {
                    self.run(tool);
                }
            }
            "hosts" => {
                if !self.rates.is_empty() {
                    self.end(runs)?;
                }
                self.is_three |= tool == "iperf3";
                let is_client = !self.way.is_server && !self.is_three;
                if is_client && line.word("port") == self.port.as_deref() {
                    self.backs.extend(line.word("id").and_then(flow));
                }
                self.hosts(["local", "remote"].map(|name| line.word(name)));
            }
            "reverse" => self.way.direction = Direction::Reverse,
            "datagrams" => self.is_udp = true,
            "report" => self.is_report = true,
            "version" => {
                self.run(tool).imported.tool_version = line.word("version").map(str::to_owned);
            }
            "failure" => {
                let error = line.text.split_once("error - ");
                self.run(tool).error = error.map(|(_, error)| error.to_owned());
            }
            "interval" => {
                let begin = self.seconds;
                self.seconds += line.number("seconds").unwrap_or(0.0);
                let span = [begin, self.seconds];
                let figures = [
                    ("throughput_mbps", line.number("throughput_mbps")),
                    ("retransmits", line.number("retransmits")),
                    ("loss_pct", line.loss_pct()),
                ];
                self.run(tool).interval(Role::Receiver, span, &figures);
            }
            _ if tool == "nttcp"
                && self
                    .run
                    .as_ref()
                    .is_none_or(|run| run.imported.tool != tool) => {}
            _ => return self.figures(line, runs),
        }
        Ok(())
    }

    fn hosts(&mut self, hosts: Hosts) {
        self.run(if self.is_three { "iperf3" } else { "iperf" });
        for (known, host) in self.hosts.iter_mut().zip(hosts) {
            *known = known.take().or(host.map(str::to_owned));
        }
    }

    fn rate(&mut self, mut rate: Rate, hosts: Hosts, runs: &mut Runs) -> Done {
        let has_words = self.has_words || rate.end.is_some();
        if std::mem::take(&mut self.is_report) {
            rate.end = Some(Role::Receiver);
        }
        self.is_udp |= rate.jitter_us.is_some();
        rate.is_back |= self.backs.contains(&rate.id);
        // Outputs in a row: a flow begins again, and this is not the total of its intervals, which
        // text without ends may have of a single one.
        let may_begin = match rate.end {
            Some(_) => true,
            None => hosts[0].is_some() && !self.going.contains(&(rate.id, rate.is_back)),
        };
        if rate.span[0] == 0.0 && may_begin && self.flows.contains(&rate.flow()) {
            self.end(runs)?;
        }
        self.has_words = has_words;
        self.hosts(hosts);
        match rate.may_be_total() {
            true => self.flows.insert(rate.flow()),
            false => self.going.insert((rate.id, rate.is_back)),
        };
        let number = self.number;
        if self.flows.len().max(self.going.len()) > MOST_FLOWS {
            return Err(format!("line {number}: more than {MOST_FLOWS} flows"));
        }
        // Sums hold the intervals of each flow.
        let has_sum = &mut self.has_sums[usize::from(rate.is_back)];
        *has_sum |= rate.is_sum();
        if *has_sum && !rate.is_sum() && !rate.may_be_total() {
            return Ok(());
        }
        let is_kept = self.rates.len() < MOST_RATES;
        if is_kept || rate.may_be_total() && self.rates.len() < 2 * MOST_RATES {
            self.rates.push(rate);
        } else {
            let first = format!("only the first {MOST_RATES} rates of a run are read");
            self.run("iperf").note(first);
        }
        Ok(())
    }

    fn figures(&mut self, line: &Line, runs: &mut Runs) -> Done {
        let (is, tool) = (line.is, line.tool);
        // nuttcp's sender may say its retransmits below what ended the run.
        let is_late = is == "figures" && tool == "nuttcp" && self.run.is_none();
        if is_late {
            self.run = runs.pop();
        }
        // A server does not know the client's share.
        let is_server = self.way.is_server;
        let run = self.run(tool);
        for name in line.words.keys() {
            let ends = ["_mbps", "_pct", "retransmits"];
            if ends.iter().any(|end| name.ends_with(end)) {
                let value = line.number(name);
                run.figure(name, value.filter(|value| *value > 0.0 || !is_server));
            }
        }
        run.figure("loss_pct", line.loss_pct());
        if tool == "nuttcp" && is != "figures" {
            let is_udp = line.word("of").is_some();
            run.level("protocol", if is_udp { "udp" } else { "tcp" });
        }
        let span = line.number("bytes").zip(line.number("seconds"));
        let span = span.filter(|(bytes, _)| *bytes > 0.0);
        for end in ["sender", "receiver"] {
            let cpu = line.number(&format!("{end}_cpu")).zip(span);
            if let Some((cpu, (bytes, seconds))) = cpu {
                let cost = cpu * 1e6 / (bytes / 1024.0);
                run.figure(&format!("{end}_thread_cpu_us_per_kib"), Some(cost));
                let share = 100.0 * cpu / seconds;
                run.figure(&format!("{end}_process_cpu_pct"), Some(share));
                run.fact("elapsed_time", seconds);
            }
        }
        let is_half = |name| run.get(name).is_none();
        let is_whole = match is {
            "figures" => is_late,
            "half" => !["send_throughput_mbps", "throughput_mbps"]
                .into_iter()
                .any(is_half),
            _ => true,
        };
        match is_whole {
            true => self.end(runs),
            false => Ok(()),
        }
    }

    /// Ends the run that is being read.
    fn end(&mut self, runs: &mut Runs) -> Done {
        let next = Reader {
            file: self.file,
            number: self.number,
            way: self.way,
            is_udp: self.is_udp,
            port: self.port.clone(),
            ..Reader::default()
        };
        let mut own = std::mem::replace(self, next);
        let Some(mut run) = own.run.take() else {
            return Ok(());
        };
        if !own.rates.is_empty() {
            own.sum_up(&mut run);
        }
        own.way.hosts(&mut run, own.hosts);
        if run.error.is_some() || !run.imported.figures.is_empty() {
            runs.push(run)?;
        } else if let Some(version) = run.imported.tool_version {
            // It stands above the line by which its run begins.
            self.run("iperf3").imported.tool_version = Some(version);
        }
        Ok(())
    }

    /// Version 3 whose totals do not say which end counted.
    fn is_silent(&self) -> bool {
        self.is_three && !self.has_words
    }

    /// The totals of iperf's lines and the intervals, and whether only the way back is there. The
    /// totals of version 3 say which end counted; in version 2 a total is a line of the whole time, of
    /// two the last.
    fn totals(&mut self, run: &mut Run) -> (Vec<Rate>, Vec<Rate>, bool) {
        let last_s = self
            .rates
            .iter()
            .map(|rate| rate.span[1])
            .fold(0.0, f64::max);
        let is_whole = |rate: &Rate| rate.span[0] == 0.0 && rate.span[1] >= 0.95 * last_s;
        let mut seen = HashSet::new();
        let (has_words, is_silent) = (self.has_words, self.is_silent());
        let may_be = |rate: &Rate| !has_words && (!is_silent || rate.jitter_us.is_some());
        let is_total = |rate: &Rate| {
            rate.end.is_some() || may_be(rate) && is_whole(rate) && seen.insert(rate.flow())
        };
        self.has_sums = [false; 2];
        let rates = std::mem::take(&mut self.rates).into_iter().rev();
        let (mut totals, mut intervals): (Vec<Rate>, Vec<Rate>) = rates.partition(is_total);
        totals.reverse();
        intervals.reverse();
        if totals.is_empty() {
            let silent = "no total: the test did not finish";
            run.error.get_or_insert(silent.to_owned());
        }
        // A connection of version 2's `-r` has only the way back.
        let is_back = !self.backs.is_empty() && totals.iter().all(|rate| rate.is_back);
        if is_back {
            let all = totals.iter_mut().chain(&mut intervals);
            all.for_each(|rate| rate.is_back = false);
            self.way.direction = Direction::Reverse;
        } else if is_silent {
            // Version 3.1 has one total of datagrams, of what was sent.
            let all = totals.iter_mut();
            all.for_each(|rate| rate.end = Some(Role::Sender));
        }
        let totals = self.without_zeros(run, totals, &intervals);
        (totals, intervals, is_back)
    }

    /// The totals without those that are 0 because their end was not asked; where no other is left,
    /// with the mean of the intervals.
    fn without_zeros(&self, run: &mut Run, totals: Vec<Rate>, intervals: &[Rate]) -> Vec<Rate> {
        // Mbit and seconds of the intervals of each flow and way.
        let mut sums: HashMap<(i32, bool), [f64; 2]> = HashMap::new();
        for rate in intervals {
            let [mbit, seconds] = sums.entry((rate.id, rate.is_back)).or_default();
            let length = rate.span[1] - rate.span[0];
            *mbit += rate.mbps * length;
            *seconds += length;
        }
        let is_known = |rate: &&Rate| rate.mbps > 0.0 || rate.loss_pct == Some(100.0);
        let side = |rate: &Rate| (rate.is_back, rate.flow().2);
        let known: HashSet<_> = totals.iter().filter(is_known).map(side).collect();
        let mut moved: HashSet<bool> = known.iter().map(|(is_back, _)| *is_back).collect();
        let of_sums = sums.iter().filter(|(_, [mbit, _])| *mbit > 0.0);
        moved.extend(of_sums.map(|((_, is_back), _)| *is_back));
        let is_kept = |rate: &Rate| known.contains(&side(rate)) || !moved.contains(&rate.is_back);
        let (mut kept, zeros): (Vec<Rate>, Vec<Rate>) = totals.into_iter().partition(is_kept);
        for zero in zeros {
            // Of several totals of a flow the first.
            let sums = sums.remove(&(zero.id, zero.is_back));
            let [mbit, seconds] = sums.unwrap_or_default();
            let is_alone = known.iter().all(|(is_back, _)| *is_back != zero.is_back);
            if is_alone && seconds > 0.0 {
                run.note("a rate is the mean of its intervals: the total in the file is 0");
                let (mbps, end) = (mbit / seconds, Some(self.way.own()));
                kept.push(Rate { mbps, end, ..zero });
            }
        }
        kept
    }

    /// The figures of iperf's lines.
    fn sum_up(&mut self, run: &mut Run) {
        let (totals, intervals, is_only_back) = self.totals(run);
        let of = |is_back: bool, end: Role| {
            let is_received = |rate: &Rate| match rate.end {
                Some(end) => end == Role::Receiver,
                None => self.way.is_server || is_only_back || is_back || rate.loss_pct.is_some(),
            };
            let is_one = |rate: &&Rate| {
                rate.is_back == is_back && is_received(rate) == (end == Role::Receiver)
            };
            let rates: Vec<&Rate> = totals.iter().filter(is_one).collect();
            match rates.iter().find(|rate| rate.is_sum()) {
                Some(sum) => vec![*sum],
                None => rates,
            }
        };
        let mbps = |rates: &[&Rate]| {
            (!rates.is_empty()).then(|| rates.iter().map(|rate| rate.mbps).sum::<f64>())
        };
        let (sent, received) = (of(false, Role::Sender), of(false, Role::Receiver));
        let mut own = Sums {
            sent: mbps(&sent),
            received: mbps(&received),
            ..Sums::default()
        };
        if self.is_udp {
            let of_loss = match self.is_silent() && !self.way.is_server {
                true => &sent,
                false => &received,
            };
            let jitters = of_loss.iter().filter_map(|rate| rate.jitter_us);
            own.jitter_us = jitters.reduce(f64::max);
            own.loss_pct = mean(of_loss.iter().filter_map(|rate| rate.loss_pct));
        } else {
            let again: Option<f64> = sent.iter().map(|rate| rate.again.map(f64::from)).sum();
            own.again = again.filter(|_| !sent.is_empty());
            if own.received.is_none() && own.sent.is_some() {
                own.received = own.sent;
                run.note("throughput is what the sender sent, the file has no other: it counts what was still in the send buffer at the end");
            }
        }
        let received_back = mbps(&of(true, Role::Receiver));
        run.sums(&own, received_back);
        let flows = totals.iter().filter(|rate| !rate.is_sum() && !rate.is_back);
        let flows: HashSet<i32> = flows.map(|rate| rate.id).collect();
        run.setting("flows", Some(flows.len() as f64));
        if self.has_words || self.is_three {
            run.imported.tool = "iperf3".to_owned();
        }
        run.level("protocol", if self.is_udp { "udp" } else { "tcp" });
        if totals.iter().any(|rate| rate.is_back) {
            self.way.direction = Direction::Both;
        } else if self.way.is_server && !sent.is_empty() && received.is_empty() {
            // A server does not say it, but has a sum of what it sent.
            self.way.direction = Direction::Reverse;
        }
        run.level("direction", self.way.direction.name());
        self.intervals(run, &intervals);
    }

    /// Keeps the intervals of the test's own direction: of the sum of all flows where there is one.
    fn intervals(&self, run: &mut Run, intervals: &[Rate]) {
        let is_alone = intervals.iter().all(|rate| rate.is_back);
        let own = || intervals.iter().filter(|rate| is_alone || !rate.is_back);
        let has_sum = own().any(Rate::is_sum);
        for rate in own().filter(|rate| rate.is_sum() == has_sum) {
            let again = rate.again.filter(|_| !self.is_udp).map(f64::from);
            let figures = [
                ("throughput_mbps", Some(rate.mbps)),
                ("retransmits", again),
                ("loss_pct", rate.loss_pct),
                ("jitter_us", rate.jitter_us),
            ];
            run.interval(self.way.own(), rate.span, &figures);
        }
    }
}
