//! What iperf3, iperf 2, nuttcp and nttcp print without JSON: a table of the forms of lines, and the
//! runs that these lines make. Of a test the totals are read; its intervals count where they are 0.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use regex::{Captures, Regex};

use crate::run::{Done, Run, Runs, Sums, Way, mbps, mean};

/// The longest line that can be one of these, in bytes, in how many lines one must be, and the most
/// flows of a run.
const LINE_BYTES: usize = 1000;
const HEAD_LINES: u64 = 10_000;
const MOST_FLOWS: usize = 10_000;

/// All flows, as version 2 writes them in CSV.
const SUM: i32 = -1;

/// What a line is, its program, a part that every such line has, and what it looks like.
struct Form {
    is: &'static str,
    tool: &'static str,
    mark: &'static str,
    pattern: Regex,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let lines = include_str!("text.txt").lines();
    let form = |line: &'static str| {
        let mut parts = line.splitn(4, " | ");
        let [is, tool, mark, pattern] = [(); 4].map(|()| parts.next().unwrap_or_default());
        Form {
            is,
            tool,
            mark,
            pattern: Regex::new(pattern).expect("a pattern"),
        }
    };
    let lines = lines.filter(|line| !line.starts_with('#'));
    lines.map(form).collect()
});

/// A line that has a form, and its words by the names that the form gives them.
struct Line<'a> {
    form: &'static Form,
    words: Captures<'a>,
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Option<Line<'a>> {
        if text.len() > LINE_BYTES || text.contains("(omitted)") {
            return None;
        }
        let mut forms = FORMS.iter().filter(|form| text.contains(form.mark));
        forms.find_map(|form| {
            let words = form.pattern.captures(text)?;
            Some(Line { form, words })
        })
    }

    fn word(&self, name: &str) -> Option<&'a str> {
        Some(self.words.name(name)?.as_str())
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.word(name)?.parse().ok()
    }

    /// The share of lost datagrams in per cent. Duplicates can make the count negative, which says
    /// nothing.
    fn loss_pct(&self) -> Option<f64> {
        let (lost, of) = self.number("lost").zip(self.number("of"))?;
        (of > 0.0 && lost >= 0.0).then(|| 100.0 * lost / of)
    }
}

pub(crate) fn read(runs: &mut Runs, text: &str) -> Done {
    let mut reader = Reader::default();
    for (number, line) in (1..).zip(text.lines()) {
        reader.number = number;
        if let Some(line) = Line::of(line) {
            reader.is_own = true;
            reader.line(&line, runs)?;
        } else if number > HEAD_LINES && !reader.is_own {
            return Ok(());
        }
    }
    reader.end(runs)
}

/// A line of iperf with the rate of one flow, or of all.
struct Rate {
    id: i32,
    is_back: bool,
    /// The end that counted, and whether the line says it.
    end: Role,
    is_said: bool,
    span: [f64; 2],
    mbps: f64,
    again: Option<f64>,
    loss_pct: Option<f64>,
    jitter_us: Option<f64>,
}

impl Rate {
    /// Its flow and way, and which end counted it.
    fn key(&self) -> (i32, bool, Role, bool) {
        (self.id, self.is_back, self.end, self.is_said)
    }

    fn is_sum(&self) -> bool {
        self.id == SUM
    }
}

#[derive(Default)]
struct Reader {
    number: u64,
    /// True where a line of the text has a form.
    is_own: bool,
    /// What is known of the run that is being read.
    run: Option<Run>,
    /// The last rate of each flow, way and end that may be a total: it says its end, or begins at 0.
    rates: BTreeMap<(i32, bool, Role, bool), Rate>,
    /// The time until which there are rates, and whether there are intervals after the first.
    last_s: f64,
    is_going: bool,
    /// Mbit and seconds of the intervals of each way.
    moved: [[f64; 2]; 2],
    /// The port of version 2's listener, and the flows that come to it at the client.
    port: Option<String>,
    backs: HashSet<i32>,
    way: Way,
    /// The server's host of the first flow.
    server: Option<String>,
    is_udp: bool,
    is_three: bool,
}

impl Reader {
    fn run(&mut self, tool: &str, runs: &Runs) -> &mut Run {
        let place = Some(format!("line {}", self.number));
        self.run.get_or_insert_with(|| runs.begin(tool, place))
    }

    fn line(&mut self, line: &Line, runs: &mut Runs) -> Done {
        let Form { is, tool, .. } = *line.form;
        match is {
            "rate" => return self.rate(line, runs),
            "begin" | "accept" => {
                self.end(runs)?;
                self.way = Way {
                    direction: Direction::Forward,
                    is_server: is == "accept",
                };
                self.is_udp = line.word("udp").is_some();
                self.port = line.word("port").map(str::to_owned);
            }
            "hosts" => {
                if !self.rates.is_empty() {
                    self.end(runs)?;
                }
                self.is_three |= tool == "iperf3";
                let is_client = !self.way.is_server && !self.is_three;
                if is_client && line.word("port") == self.port.as_deref() {
                    self.backs.extend(line.number("id").map(|id| id as i32));
                }
                self.hosts(line, runs);
            }
            "reverse" => self.way.direction = Direction::Reverse,
            "datagrams" => self.is_udp = true,
            "version" => {
                let version = line.word("version").map(str::to_owned);
                self.run(tool, runs).imported.tool_version = version;
            }
            "failure" => {
                let error = line.word("error").map(str::to_owned);
                self.run(tool, runs).error = error;
            }
            _ => return self.figures(line, runs),
        }
        Ok(())
    }

    fn hosts(&mut self, line: &Line, runs: &Runs) {
        self.run(if self.is_three { "iperf3" } else { "iperf" }, runs);
        let server = line.word(["remote", "local"][usize::from(self.way.is_server)]);
        self.server = self.server.take().or(server.map(str::to_owned));
    }

    fn rate_of(&self, line: &Line) -> Option<Rate> {
        let id = match line.word("id")? {
            "SUM" => SUM,
            id => id.parse().ok()?,
        };
        let is_back = match line.word("role") {
            Some(role) => ["RX-C", "TX-S"].contains(&role),
            None => line.word("back").is_some() || self.backs.contains(&id),
        };
        let loss_pct = line.loss_pct();
        let said = match line.word("counted") {
            Some("sender") => Some(Role::Sender),
            said => said.map(|_| Role::Receiver),
        };
        let is_server = self.way.is_server;
        let is_receiver = match self.is_three {
            true => is_server,
            false => is_server != is_back || loss_pct.is_some(),
        };
        let counted = [Role::Sender, Role::Receiver][usize::from(is_receiver)];
        Some(Rate {
            id,
            is_back,
            end: said.unwrap_or(counted),
            is_said: said.is_some(),
            span: [line.number("begin")?, line.number("end")?],
            mbps: mbps(
                line.number("rate")?,
                line.word("unit").unwrap_or("bits/sec"),
            )?,
            again: line.number("again"),
            loss_pct,
            jitter_us: line.number("jitter").map(|ms| ms * 1000.0),
        })
    }

    fn rate(&mut self, line: &Line, runs: &mut Runs) -> Done {
        let Some(rate) = self.rate_of(line) else {
            return Ok(());
        };
        // Outputs in a row: a flow begins again, and this is not the total of its intervals, which
        // text without ends may have of a single one.
        let is_first = rate.span[0] == 0.0;
        let may_begin = rate.is_said || line.word("local").is_some() && !self.is_going;
        if is_first && may_begin && self.rates.contains_key(&rate.key()) {
            self.end(runs)?;
        }
        self.is_udp |= rate.jitter_us.is_some();
        self.hosts(line, runs);
        self.last_s = self.last_s.max(rate.span[1]);
        if !rate.is_said && !rate.is_sum() && rate.mbps > 0.0 {
            let [mbit, until_s] = &mut self.moved[usize::from(rate.is_back)];
            *mbit += rate.mbps * (rate.span[1] - rate.span[0]);
            *until_s = until_s.max(rate.span[1]);
        }
        match is_first || rate.is_said {
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
        let Form {
            is, tool, pattern, ..
        } = line.form;
        let ends = ["_mbps", "_pct", "retransmits"];
        let is_metric = |name: &&str| ends.iter().any(|end| name.ends_with(end));
        let names = pattern.capture_names().flatten().filter(is_metric);
        let values = names.filter_map(|name| Some((name, line.number(name)?)));
        let values: Vec<(&str, f64)> = values.collect();
        // A second rate of an end is that of another test.
        let has = |run: &Run| values.iter().any(|(name, _)| run.get(name).is_some());
        if self.run.as_ref().is_some_and(has) {
            self.end(runs)?;
        }
        // A server does not know the client's share.
        let is_server = self.way.is_server;
        let run = self.run(tool, runs);
        for (name, value) in values {
            run.figure(name, Some(value).filter(|value| *value > 0.0 || !is_server));
        }
        run.figure("loss_pct", line.loss_pct());
        if *tool == "nuttcp" {
            let is_udp = line.word("of").is_some();
            run.level("protocol", ["tcp", "udp"][usize::from(is_udp)].to_owned());
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
        match *is {
            "result" => self.end(runs),
            _ => Ok(()),
        }
    }

    /// Ends the run that is being read.
    fn end(&mut self, runs: &mut Runs) -> Done {
        let next = Reader {
            number: self.number,
            is_own: self.is_own,
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
        if run.error.is_some() || !run.imported.figures.is_empty() {
            runs.push(run)?;
        } else if let Some(version) = run.imported.tool_version {
            // It stands above the line by which its run begins.
            self.run("iperf3", runs).imported.tool_version = Some(version);
        }
        Ok(())
    }

    /// The totals of iperf's lines. Those of version 3 say which end counted, but for version 3.1 with
    /// datagrams; in version 2 a total is a line of the whole time.
    fn totals(&mut self) -> Vec<Rate> {
        let has_said = self.rates.values().any(|rate| rate.is_said);
        let is_whole = |rate: &Rate| {
            let is_datagrams = rate.jitter_us.is_some();
            rate.span[1] >= 0.95 * self.last_s && (!self.is_three || is_datagrams)
        };
        let rates = std::mem::take(&mut self.rates).into_values();
        let totals = rates.filter(|rate| match has_said {
            true => rate.is_said,
            false => is_whole(rate),
        });
        let mut totals: Vec<Rate> = totals.collect();
        let is_back = |rate: &Rate| rate.is_back && !has_said;
        // A connection of version 2's `-r` has only the way back.
        if !totals.is_empty() && totals.iter().all(is_back) {
            self.way.direction = Direction::Reverse;
            totals.iter_mut().for_each(|rate| rate.is_back = false);
        } else if totals.iter().any(is_back) {
            // Version 2's sum is that of both directions.
            totals.retain(|rate| !rate.is_sum());
        }
        totals
    }

    /// The total of a way that an end counted: that of all flows, where there is one.
    fn total(&self, totals: &[Rate], is_back: bool, end: Role) -> Sums {
        let is_one = |rate: &&Rate| rate.is_back == is_back && rate.end == end;
        let mut rates: Vec<&Rate> = totals.iter().filter(is_one).collect();
        if let Some(sum) = rates.iter().position(|rate| rate.is_sum()) {
            rates = vec![rates[sum]];
        }
        // A rate is 0 too where its end was not asked.
        let mbps: f64 = rates.iter().map(|rate| rate.mbps).sum();
        let is_lost = rates.iter().any(|rate| rate.loss_pct == Some(100.0));
        let is_still = !rates.is_empty() && self.moved == [[0.0; 2]; 2];
        let mbps = Some(mbps).filter(|mbps| *mbps > 0.0 || is_lost || is_still);
        let again: Option<f64> = rates.iter().map(|rate| rate.again).sum();
        let jitters = rates.iter().filter_map(|rate| rate.jitter_us);
        Sums {
            sent: mbps.filter(|_| end == Role::Sender),
            received: mbps.filter(|_| end == Role::Receiver),
            again: again.filter(|_| !rates.is_empty()),
            loss_pct: mean(rates.iter().filter_map(|rate| rate.loss_pct)),
            jitter_us: jitters.reduce(f64::max),
        }
    }

    /// The figures of iperf's lines.
    fn sum_up(&mut self, run: &mut Run) {
        let totals = self.totals();
        let is_said = totals.iter().any(|rate| rate.is_said);
        if totals.is_empty() {
            let silent = "no total: the test did not finish";
            run.error.get_or_insert(silent.to_owned());
        }
        let total = |is_back, end| self.total(&totals, is_back, end);
        let (sent, received) = (total(false, Role::Sender), total(false, Role::Receiver));
        let back = total(true, Role::Receiver).received;
        // Version 3.1 says what was lost in the client's total of what was sent.
        let is_of_sent = self.is_three && !is_said && !self.way.is_server;
        let counted = if is_of_sent { &sent } else { &received };
        let mut own = Sums {
            sent: sent.sent,
            received: received.received,
            again: sent.again.filter(|_| !self.is_udp),
            loss_pct: counted.loss_pct,
            jitter_us: counted.jitter_us,
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
        if !self.is_udp && own.received.is_none() && own.sent.is_some() {
            own.received = own.sent;
            run.note("throughput is what the sender sent, the file has no other: it counts what was still in the send buffer at the end");
        }
        run.sums(&own, back);
        let flows = totals.iter().filter(|rate| !rate.is_sum() && !rate.is_back);
        let flows: HashSet<i32> = flows.map(|rate| rate.id).collect();
        run.setting("flows", Some(flows.len() as f64));
        if self.is_three || is_said {
            run.imported.tool = "iperf3".to_owned();
        }
        let protocol = if self.is_udp { "udp" } else { "tcp" };
        run.level("protocol", protocol.to_owned());
        run.way(self.way.direction, self.server.take());
    }
}
