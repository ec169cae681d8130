//! What iperf3, iperf 2, nuttcp and nttcp print without JSON: a table of the forms of lines, and the
//! runs that these lines make. Of a test the totals are read; its intervals count where they are 0.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;

use crate::run::{Done, Run, Runs, Sums, Way, mbps, mean};

/// The longest line that can be one of these, in bytes, in how many lines one must be, and the most
/// flows of a run.
const LINE_BYTES: usize = 1000;
const HEAD_LINES: usize = 10_000;
const MOST_FLOWS: usize = 10_000;

/// All flows, as version 2 writes them in CSV.
const SUM: i32 = -1;

/// What a line is, its program, a part that every such line has, and the places of its words.
struct Form {
    is: &'static str,
    tool: &'static str,
    mark: &'static str,
    places: Vec<Place>,
}

/// The name of a word, and how many words after another one, or after the line's beginning, it is.
struct Place {
    name: &'static str,
    is_optional: bool,
    is_number: bool,
    steps: isize,
    anchor: &'static str,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let lines = include_str!("text.txt").lines();
    let place = |field: &'static str| {
        let mut parts = field.splitn(3, ':').map(str::trim);
        let [name, steps, anchor] = [(); 3].map(|()| parts.next().unwrap_or_default());
        Place {
            name: name.trim_end_matches(['?', '!']),
            is_optional: name.contains('?'),
            is_number: name.contains('!'),
            steps: steps.parse().unwrap_or_default(),
            anchor,
        }
    };
    let form = |line: &'static str| {
        let mut parts = line.split(" | ");
        let [is, tool, mark, words] = [(); 4].map(|()| parts.next().unwrap_or_default());
        let places = words.split_whitespace().map(place).collect();
        Form {
            is,
            tool,
            mark,
            places,
        }
    };
    lines
        .filter(|line| !line.starts_with('#'))
        .map(form)
        .collect()
});

impl Form {
    /// The words at its places; absent for a line of another form.
    fn named<'a>(&self, words: &[&'a str]) -> Option<Vec<(&'static str, &'a str)>> {
        let find = |place: &Place| {
            let anchor = match place.anchor {
                "^" => -1,
                anchor => words.iter().position(|word| *word == anchor)? as isize,
            };
            let word = *words.get(usize::try_from(anchor + place.steps).ok()?)?;
            (!place.is_number || number(word).is_some()).then_some((place.name, word))
        };
        let found = self.places.iter().map(|place| (place, find(place)));
        let needed = found.filter(|(place, found)| found.is_some() || !place.is_optional);
        needed.map(|(_, found)| found).collect()
    }
}

/// A line that has a form, and its words by the names that the form gives them.
struct Line<'a> {
    form: &'static Form,
    text: &'a str,
    words: Vec<(&'static str, &'a str)>,
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Option<Line<'a>> {
        if text.len() > LINE_BYTES || text.contains("(omitted)") {
            return None;
        }
        let words = words(text);
        let mut forms = FORMS.iter().filter(|form| text.contains(form.mark));
        let (form, words) = forms.find_map(|form| Some((form, form.named(&words)?)))?;
        Some(Line { form, text, words })
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        let mut words = self.words.iter();
        Some(words.find(|(known, _)| *known == name)?.1)
    }

    fn number(&self, name: &str) -> Option<f64> {
        number(self.word(name)?)
    }

    /// The share of lost datagrams in per cent: of `1/22823`, `1/ 893`, or of two words. Duplicates can
    /// make the count negative, which says nothing.
    fn loss_pct(&self) -> Option<f64> {
        let (lost, of) = match self.word("lost")?.split_once('/') {
            Some((lost, of)) if !of.is_empty() => (lost, of),
            _ => (self.word("lost")?.trim_end_matches('/'), self.word("of")?),
        };
        let (lost, of) = number(lost).zip(number(of))?;
        (of > 0.0 && lost >= 0.0).then(|| 100.0 * lost / of)
    }
}

/// The words of a line; `0.00-1.00` is two.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let is_between = |c| matches!(c, ' ' | '\t' | '=' | '[' | ']' | '(' | ')' | ',');
    for word in text.split(is_between).filter(|word| !word.is_empty()) {
        let is_span = word.as_bytes()[0].is_ascii_digit();
        match word.split_once('-').filter(|_| is_span) {
            Some((begin, "")) => words.push(begin),
            Some(pair) => words.extend(<[&str; 2]>::from(pair)),
            None => words.push(word),
        }
    }
    words
}

fn number(word: &str) -> Option<f64> {
    word.trim_end_matches('%').parse().ok()
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
    let is_own = |line: Line| own.contains(&line.form.is) || Rate::of(&line).is_some();
    let mut lines = text.lines().take(HEAD_LINES).filter_map(Line::of);
    lines.any(is_own)
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Done {
    let mut reader = Reader {
        file,
        ..Reader::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        reader.number = number;
        if let Some(line) = Line::of(line) {
            reader.line(&line, runs)?;
        }
    }
    reader.end(runs)
}

/// A line of iperf with the rate of one flow, or of all.
struct Rate {
    id: i32,
    is_back: bool,
    /// The end that counted, where the line says it.
    end: Option<Role>,
    span: [f64; 2],
    mbps: f64,
    again: Option<f64>,
    loss_pct: Option<f64>,
    jitter_us: Option<f64>,
}

impl Rate {
    /// `[  5][TX-C]  0.00-1.00  sec  110 MBytes  923 Mbits/sec  0.08 ms  0/22823 (0%)  sender`, or
    /// `20260101000000,10.0.0.1,40000,10.0.0.2,5001,3,0.0-1.0,BYTES,BITS,JITTER,LOST,OF,…`
    fn of(line: &Line) -> Option<Rate> {
        let role = line.word("id").filter(|_| line.form.is == "rate")?;
        let is_role = ["RX-C", "TX-S", "TX-C", "RX-S"].contains(&role);
        let at = line.word("at").map(|at| at.rsplit(':').next());
        let is_time = |at: &str| at.len() >= 14 && number(at).is_some();
        let is_csv = at.flatten().is_some_and(is_time);
        let is_rate = is_csv || line.word("bytes")?.ends_with("Bytes");
        let is_udp = is_csv || line.word("ms") == Some("ms");
        let extra = line.number("extra");
        let rate = line.number("rate").filter(|_| is_rate)?;
        Some(Rate {
            id: flow(line.word(if is_role { "flow" } else { "id" })?)?,
            is_back: ["RX-C", "TX-S"].contains(&role),
            end: match line.word("sender") {
                Some(_) => Some(Role::Sender),
                None => line.word("receiver").map(|_| Role::Receiver),
            },
            span: [line.number("begin")?, line.number("end")?],
            mbps: mbps(rate, line.word("unit").unwrap_or("bits/sec"))?,
            again: extra.filter(|_| !is_udp),
            loss_pct: line.loss_pct().filter(|_| is_udp),
            jitter_us: extra.filter(|_| is_udp).map(|ms| ms * 1000.0),
        })
    }

    /// Its flow and way, and whether their sender counted it.
    fn key(&self) -> (i32, bool, Option<bool>) {
        let is_sent = self.end.map(|end| end == Role::Sender);
        (self.id, self.is_back, is_sent)
    }

    fn is_sum(&self) -> bool {
        self.id == SUM
    }
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    number: u64,
    /// What is known of the run that is being read.
    run: Option<Run>,
    /// The last rate of each flow, way and end that may be a total: it has an end, or begins at 0.
    rates: BTreeMap<(i32, bool, Option<bool>), Rate>,
    /// The time until which there are rates, and whether there are intervals after the first.
    last_s: f64,
    is_going: bool,
    /// Mbit and seconds of the intervals of each way.
    moved: [[f64; 2]; 2],
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
        let (is, tool) = (line.form.is, line.form.tool);
        match is {
            "rate" => {
                let rate = Rate::of(line).map(|rate| self.rate(rate, line, runs));
                return rate.unwrap_or(Ok(()));
            }
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
                self.hosts(line);
            }
            "reverse" => self.way.direction = Direction::Reverse,
            "datagrams" => self.is_udp = true,
            "report" => self.is_report = true,
            "interval" => {}
            "version" => {
                self.run(tool).imported.tool_version = line.word("version").map(str::to_owned);
            }
            "failure" => {
                let error = line.text.split_once("error - ");
                self.run(tool).error = error.map(|(_, error)| error.to_owned());
            }
            _ => return self.figures(line, runs),
        }
        Ok(())
    }

    fn hosts(&mut self, line: &Line) {
        self.run(if self.is_three { "iperf3" } else { "iperf" });
        for (known, name) in self.hosts.iter_mut().zip(["local", "remote"]) {
            *known = known.take().or(line.word(name).map(str::to_owned));
        }
    }

    fn rate(&mut self, mut rate: Rate, line: &Line, runs: &mut Runs) -> Done {
        let has_words = self.has_words || rate.end.is_some();
        if std::mem::take(&mut self.is_report) {
            rate.end = Some(Role::Receiver);
        }
        self.is_udp |= rate.jitter_us.is_some();
        rate.is_back |= self.backs.contains(&rate.id);
        // Outputs in a row: a flow begins again, and this is not the total of its intervals, which
        // text without ends may have of a single one.
        let is_first = rate.span[0] == 0.0;
        let may_begin = rate.end.is_some() || line.word("local").is_some() && !self.is_going;
        if is_first && may_begin && self.rates.contains_key(&rate.key()) {
            self.end(runs)?;
        }
        self.has_words = has_words;
        self.hosts(line);
        self.last_s = self.last_s.max(rate.span[1]);
        if rate.end.is_none() && !rate.is_sum() && rate.mbps > 0.0 {
            let [mbit, until_s] = &mut self.moved[usize::from(rate.is_back)];
            *mbit += rate.mbps * (rate.span[1] - rate.span[0]);
            *until_s = until_s.max(rate.span[1]);
        }
        match is_first || rate.end.is_some() {
            true => drop(self.rates.insert(rate.key(), rate)),
            false => self.is_going = true,
        }
        match self.rates.len() > MOST_FLOWS {
            true => Err(format!(
                "line {}: more than {MOST_FLOWS} flows",
                self.number
            )),
            false => Ok(()),
        }
    }

    /// The figures of a line of nuttcp or nttcp, or of iperf3's CPU.
    fn figures(&mut self, line: &Line, runs: &mut Runs) -> Done {
        let (is, tool) = (line.form.is, line.form.tool);
        // Without its head a line is none of nttcp's.
        let is_own = |run: &Run| run.imported.tool == tool;
        if tool == "nttcp" && !self.run.as_ref().is_some_and(is_own) {
            return Ok(());
        }
        // nuttcp's sender may say its retransmits below what ended the run.
        let is_late = is == "figures" && tool == "nuttcp" && self.run.is_none();
        if is_late {
            self.run = runs.all.pop();
        }
        // A server does not know the client's share.
        let is_server = self.way.is_server;
        let run = self.run(tool);
        for (name, word) in &line.words {
            if ["_mbps", "_pct", "retransmits"]
                .iter()
                .any(|end| name.ends_with(end))
            {
                let value = number(word);
                run.figure(name, value.filter(|value| *value > 0.0 || !is_server));
            }
        }
        run.figure("loss_pct", line.loss_pct());
        if tool == "nuttcp" && is != "figures" {
            let is_udp = line.word("of").is_some();
            run.level("protocol", if is_udp { "udp" } else { "tcp" });
        }
        for end in ["sender", "receiver"] {
            let of = ["bytes", "seconds", &format!("{end}_cpu")].map(|name| line.number(name));
            if let [Some(bytes), Some(seconds), Some(cpu)] = of {
                let cost = Some(cpu * 1e6 / (bytes / 1024.0)).filter(|_| bytes > 0.0);
                run.figure(&format!("{end}_thread_cpu_us_per_kib"), cost);
                let share = Some(100.0 * cpu / seconds).filter(|_| bytes > 0.0);
                run.figure(&format!("{end}_process_cpu_pct"), share);
            }
        }
        let ends = ["send_throughput_mbps", "throughput_mbps"];
        let is_whole = match is {
            "figures" => is_late,
            "half" => ends.iter().all(|name| run.get(name).is_some()),
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
        if own.last_s > 0.0 {
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

    /// The totals of iperf's lines. Those of version 3 say which end counted; in version 2 a total is a
    /// line of the whole time. Version 3.1 has one total of datagrams, of what was sent.
    fn totals(&mut self) -> Vec<Rate> {
        let is_silent = self.is_silent();
        let is_total = |rate: &Rate| match rate.end {
            Some(_) => true,
            None if self.has_words || is_silent && rate.jitter_us.is_none() => false,
            None => rate.span[1] >= 0.95 * self.last_s,
        };
        let rates = std::mem::take(&mut self.rates).into_values();
        let mut totals: Vec<Rate> = rates.filter(is_total).collect();
        // A connection of version 2's `-r` has only the way back.
        if !self.backs.is_empty() && totals.iter().all(|rate| rate.is_back) {
            self.way.direction = Direction::Reverse;
            for rate in &mut totals {
                (rate.is_back, rate.end) = (false, Some(Role::Receiver));
            }
        } else if is_silent {
            let end = [Role::Sender, Role::Receiver][usize::from(self.way.is_server)];
            totals.iter_mut().for_each(|rate| rate.end = Some(end));
        }
        totals
    }

    /// Version 3 whose totals do not say which end counted.
    fn is_silent(&self) -> bool {
        self.is_three && !self.has_words
    }

    /// The totals of a way that an end counted: that of all flows, where there is one.
    fn counted<'a>(&self, totals: &'a [Rate], is_back: bool, end: Role) -> Vec<&'a Rate> {
        let is_received = |rate: &Rate| match rate.end {
            Some(end) => end == Role::Receiver,
            None => self.way.is_server || is_back || rate.loss_pct.is_some(),
        };
        let is_one =
            |rate: &&Rate| rate.is_back == is_back && is_received(rate) == (end == Role::Receiver);
        let rates: Vec<&Rate> = totals.iter().filter(is_one).collect();
        match rates.iter().find(|rate| rate.is_sum()) {
            Some(sum) => vec![*sum],
            None => rates,
        }
    }

    /// The rate of totals; absent where they are 0 because their end was not asked.
    fn mbps(&self, totals: &[&Rate]) -> Option<f64> {
        let mbps: f64 = totals.iter().map(|rate| rate.mbps).sum();
        let is_lost = totals.iter().any(|rate| rate.loss_pct == Some(100.0));
        let is_still = self.moved == [[0.0; 2]; 2];
        (!totals.is_empty() && (mbps > 0.0 || is_lost || is_still)).then_some(mbps)
    }

    /// The figures of iperf's lines.
    fn sum_up(&mut self, run: &mut Run) {
        let totals = self.totals();
        if totals.is_empty() {
            let silent = "no total: the test did not finish";
            run.error.get_or_insert(silent.to_owned());
        }
        let [sent, received, back] = [
            (false, Role::Sender),
            (false, Role::Receiver),
            (true, Role::Receiver),
        ]
        .map(|(is_back, end)| self.counted(&totals, is_back, end));
        let mut own = Sums {
            sent: self.mbps(&sent),
            received: self.mbps(&received),
            ..Sums::default()
        };
        let [mbit, seconds] = self.moved[0];
        if own.sent.or(own.received).is_none() && !totals.is_empty() && seconds > 0.0 {
            run.note("a rate is the mean of its intervals: the total in the file is 0");
            let own_end = match self.way.own() {
                Role::Sender => &mut own.sent,
                Role::Receiver => &mut own.received,
            };
            *own_end = Some(mbit / seconds);
        }
        if totals.iter().any(|rate| rate.is_back) {
            self.way.direction = Direction::Both;
        } else if self.way.is_server && own.received.is_none() && own.sent.is_some() {
            // A server does not say it, but has a sum of what it sent.
            self.way.direction = Direction::Reverse;
        }
        if self.is_udp {
            let of_loss = match self.is_silent() && !self.way.is_server {
                true => &sent,
                false => &received,
            };
            let jitters = of_loss.iter().filter_map(|rate| rate.jitter_us);
            own.jitter_us = jitters.reduce(f64::max);
            own.loss_pct = mean(of_loss.iter().filter_map(|rate| rate.loss_pct));
        } else {
            let again: Option<f64> = sent.iter().map(|rate| rate.again).sum();
            own.again = again.filter(|_| !sent.is_empty());
            if own.received.is_none() && own.sent.is_some() {
                own.received = own.sent;
                run.note("throughput is what the sender sent, the file has no other: it counts what was still in the send buffer at the end");
            }
        }
        run.sums(&own, self.mbps(&back));
        let flows = totals.iter().filter(|rate| !rate.is_sum() && !rate.is_back);
        let flows: HashSet<i32> = flows.map(|rate| rate.id).collect();
        run.setting("flows", Some(flows.len() as f64));
        if self.has_words || self.is_three {
            run.imported.tool = "iperf3".to_owned();
        }
        run.level("protocol", if self.is_udp { "udp" } else { "tcp" });
        run.level("direction", self.way.direction.name());
    }
}
