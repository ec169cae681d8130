//! What iperf3, iperf 2, nuttcp and nttcp print without JSON: a table of the forms of their lines, and
//! the runs that these lines make.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;
use regex_lite::{Captures, Regex};

use crate::iperf3::mean;
use crate::run::{Run, Runs, Way};

/// The longest line that can be one of these, in bytes, and in how many lines one must be.
const LINE_BYTES: usize = 1000;
const HEAD_LINES: usize = 10_000;

/// All flows, as version 2 writes them in CSV.
const SUM: i32 = -1;

/// The most lines with rates in a run.
const MOST_RATES: usize = 1_000_000;

struct Form {
    is: &'static str,
    tool: &'static str,
    /// What each of its lines has, looked for before the slower form is.
    mark: &'static str,
    regex: Regex,
}

static FORMS: LazyLock<Vec<Form>> = LazyLock::new(|| {
    let form = |line: &'static str| {
        let (is, rest) = line.split_once(' ')?;
        let (tool, rest) = rest.split_once(' ')?;
        let (mark, regex) = rest.split_once(' ')?;
        let regex = Regex::new(regex).ok()?;
        Some(Form {
            is,
            tool,
            mark,
            regex,
        })
    };
    let lines = include_str!("text.txt").lines();
    let rows = lines.filter(|line| !line.starts_with('#'));
    rows.filter_map(form).collect()
});

fn form_of(line: &str) -> Option<(&'static Form, Captures<'_>)> {
    let line = Some(line.trim_end()).filter(|line| line.len() <= LINE_BYTES)?;
    let mut forms = FORMS.iter().filter(|form| line.contains(form.mark));
    forms.find_map(|form| Some((form, form.regex.captures(line)?)))
}

pub(crate) fn is(text: &str) -> bool {
    let own = ["rate", "interval", "failure", "head", "half", "result"];
    let is_own = |(form, _): (&Form, Captures)| own.contains(&form.is);
    let mut lines = text.lines().take(HEAD_LINES);
    lines.any(|line| form_of(line).is_some_and(is_own))
}

pub(crate) fn read(file: &str, text: &str, runs: &mut Runs) -> Result<(), String> {
    let mut reader = Reader {
        file,
        ..Reader::default()
    };
    for (number, line) in (1..).zip(text.lines()) {
        reader.number = number;
        if let Some((form, groups)) = form_of(line).filter(|_| !line.contains("(omitted)")) {
            reader.line(form, &Groups(groups), runs)?;
            if reader.rates.len() > MOST_RATES {
                return Err(format!(
                    "line {number}: a test of more than {MOST_RATES} lines with a rate"
                ));
            }
        }
    }
    reader.end(runs)
}

struct Groups<'a>(Captures<'a>);

impl Groups<'_> {
    fn word(&self, name: &str) -> Option<&str> {
        Some(self.0.name(name)?.as_str())
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.word(name)?.parse().ok()
    }

    /// The flow that a line is about; absent for `FD`, the sum of both directions.
    fn id(&self) -> Option<i32> {
        match self.word("id")? {
            "SUM" => Some(SUM),
            id => id.parse().ok(),
        }
    }

    /// The share of lost datagrams in per cent. Duplicates can make the count negative, which says
    /// nothing.
    fn loss_pct(&self) -> Option<f64> {
        let (lost, of) = self.number("lost").zip(self.number("of"))?;
        (of > 0.0 && lost >= 0.0).then(|| 100.0 * lost / of)
    }
}

/// A line of iperf with the rate of one flow, or of all (`SUM`; −1 in CSV).
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
    fn of(groups: &Groups) -> Option<Rate> {
        let unit = groups.word("unit").unwrap_or_default();
        let (bits, base) = match unit.ends_with("Bytes") {
            true => (8.0, 1024_f64),
            false => (1.0, 1000.0),
        };
        let power = unit.chars().next().and_then(|letter| "KMGT".find(letter));
        let power = power.map_or(0, |place| place as i32 + 1);
        Some(Rate {
            id: groups.id()?,
            is_back: matches!(groups.word("way"), Some("RX-C" | "TX-S")),
            end: groups.word("role").map(|role| match role {
                "sender" => Role::Sender,
                _ => Role::Receiver,
            }),
            span: [groups.number("begin")?, groups.number("end")?],
            mbps: groups.number("rate")? * bits * base.powi(power) / 1e6,
            again: groups.number("again"),
            loss_pct: groups.loss_pct(),
            jitter_us: groups.number("jitter").map(|ms| ms * 1000.0),
        })
    }

    /// Its flow and way, and whether their sender counted it.
    fn flow(&self) -> (i32, bool, Option<bool>) {
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
    /// What is known of the run that is being read, and its lines.
    run: Option<Run>,
    rates: Vec<Rate>,
    /// Of each flow and end, whether it has begun, and whether it has gone on.
    known: HashMap<(i32, bool, Option<bool>), [bool; 2]>,
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
        let place = Some(format!("line {}", self.number));
        self.run.get_or_insert_with(|| {
            let mut run = Run::of(tool, self.file);
            run.imported.place = place;
            run
        })
    }

    fn line(&mut self, form: &Form, groups: &Groups, runs: &mut Runs) -> Result<(), String> {
        let word = |name| groups.word(name).map(str::to_owned);
        match form.is {
            "begin" | "head" => {
                self.end(runs)?;
                self.way = Way {
                    direction: Direction::Forward,
                    is_server: groups.word("server").is_some(),
                };
                self.is_udp = groups.word("udp").is_some();
                self.port = word("port");
            }
            "hosts" => {
                if !self.rates.is_empty() {
                    self.end(runs)?;
                }
                self.hosts(groups);
            }
            "reverse" => self.way.direction = Direction::Reverse,
            "datagrams" => self.is_udp = true,
            "report" => self.is_report = true,
            "version" => self.run(form.tool).imported.tool_version = word("version"),
            "failure" => self.run(form.tool).error = word("error"),
            "rate" => {
                if let Some(rate) = Rate::of(groups) {
                    self.rate(rate, groups.word("unit").is_none(), runs)?;
                    self.hosts(groups);
                }
            }
            "interval" => {
                let begin = self.seconds;
                self.seconds += groups.number("seconds").unwrap_or(0.0);
                let span = [begin, self.seconds];
                let figures = [
                    ("throughput_mbps", groups.number("throughput_mbps")),
                    ("retransmits", groups.number("retransmits")),
                    ("loss_pct", groups.loss_pct()),
                ];
                let run = self.run(form.tool);
                run.interval(Role::Receiver, span, &figures);
            }
            _ => return self.figures(form, groups, runs),
        }
        Ok(())
    }

    fn hosts(&mut self, groups: &Groups) {
        self.is_three |= groups.word("three").is_some();
        let is_back = groups.word("port").zip(self.port.as_deref());
        if !self.way.is_server && !self.is_three && is_back.is_some_and(|(own, port)| own == port) {
            self.backs.extend(groups.id());
        }
        let tool = if self.is_three { "iperf3" } else { "iperf" };
        self.run(tool);
        for (host, group) in self.hosts.iter_mut().zip(["local", "remote"]) {
            if host.is_none() {
                *host = groups.word(group).map(str::to_owned);
            }
        }
    }

    fn rate(&mut self, mut rate: Rate, is_csv: bool, runs: &mut Runs) -> Result<(), String> {
        let has_words = self.has_words || rate.end.is_some();
        if self.is_report {
            rate.end = Some(Role::Receiver);
        }
        self.is_udp |= rate.jitter_us.is_some();
        self.is_report = false;
        rate.is_back |= self.backs.contains(&rate.id);
        // Outputs in a row: a flow begins again, and this is not the total of its intervals, which
        // text without ends may have of a single one.
        let begins = rate.span[0] == 0.0;
        let [has_begun, goes_on] = *self.known.entry(rate.flow()).or_default();
        if begins && has_begun && !goes_on && (is_csv || rate.end.is_some()) {
            self.end(runs)?;
        }
        self.known.entry(rate.flow()).or_default()[usize::from(!begins)] = true;
        self.has_words = has_words;
        self.run("iperf");
        self.rates.push(rate);
        Ok(())
    }

    fn figures(&mut self, form: &Form, groups: &Groups, runs: &mut Runs) -> Result<(), String> {
        let mut figures = Vec::new();
        let names = form.regex.capture_names().flatten();
        let is_figure = |name: &&str| {
            ["_mbps", "_pct", "retransmits"]
                .iter()
                .any(|end| name.ends_with(end))
        };
        for name in names.filter(is_figure) {
            // A server does not know the client's share.
            let is_known = |value: &f64| *value > 0.0 || !self.way.is_server;
            figures.push((name, groups.number(name).filter(is_known)));
        }
        // nuttcp's sender may say its retransmits below what ended the run.
        let is_late = form.is == "figures" && form.tool == "nuttcp" && self.run.is_none();
        if is_late {
            self.run = runs.pop();
        }
        let run = self.run(form.tool);
        for (name, value) in figures {
            run.figure(name, value);
        }
        run.figure("loss_pct", groups.loss_pct());
        if form.tool == "nuttcp" && form.is != "figures" {
            let protocol = if groups.word("of").is_some() {
                "udp"
            } else {
                "tcp"
            };
            run.level("protocol", protocol);
        }
        let span = groups.number("bytes").zip(groups.number("seconds"));
        for end in ["sender", "receiver"] {
            let cpu = groups.number(&format!("{end}_cpu")).zip(span);
            if let Some((cpu, (bytes, seconds))) = cpu.filter(|(_, (bytes, _))| *bytes > 0.0) {
                let cost = cpu * 1e6 / (bytes / 1024.0);
                run.figure(&format!("{end}_thread_cpu_us_per_kib"), Some(cost));
                let share = 100.0 * cpu / seconds;
                run.figure(&format!("{end}_process_cpu_pct"), Some(share));
                run.fact("elapsed_time", seconds);
            }
        }
        let has_both = ["send_throughput_mbps", "throughput_mbps"].map(|name| run.get(name));
        let is_whole = match form.is {
            "figures" => is_late,
            "half" => has_both.iter().all(Option::is_some),
            _ => true,
        };
        match is_whole {
            true => self.end(runs),
            false => Ok(()),
        }
    }

    /// Ends the run that is being read.
    fn end(&mut self, runs: &mut Runs) -> Result<(), String> {
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

    /// The totals and intervals of iperf's lines, and whether only the way back is there. The totals
    /// of version 3 say which end counted; in version 2 a total is a line of the whole time.
    fn parted(&mut self, run: &mut Run) -> (Vec<Rate>, Vec<Rate>, bool) {
        let last = self.rates.iter().map(|rate| rate.span[1]);
        let last = last.fold(0.0, f64::max);
        let is_whole = |rate: &Rate| rate.span[0] == 0.0 && rate.span[1] >= 0.95 * last;
        // Of two lines of the whole time the last is the total.
        let mut seen = HashSet::new();
        let is_silent = self.is_silent();
        let may_be = |rate: &Rate| !self.has_words && (!is_silent || rate.jitter_us.is_some());
        let is_total = |rate: &Rate| {
            rate.end.is_some() || may_be(rate) && is_whole(rate) && seen.insert(rate.flow())
        };
        let mut are_totals: Vec<bool> = self.rates.iter().rev().map(is_total).collect();
        let mut intervals = std::mem::take(&mut self.rates);
        let is_next = |_: &mut Rate| are_totals.pop() == Some(true);
        let mut totals: Vec<Rate> = intervals.extract_if(.., is_next).collect();
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
            totals
                .iter_mut()
                .for_each(|rate| rate.end = Some(Role::Sender));
        }
        let totals = without_zeros(run, totals, &intervals, self.way.own());
        (totals, intervals, is_back)
    }

    /// Version 3 whose totals do not say which end counted.
    fn is_silent(&self) -> bool {
        self.is_three && !self.has_words
    }

    /// The figures of iperf's lines.
    fn sum_up(&mut self, run: &mut Run) {
        let (totals, intervals, is_only_back) = self.parted(run);
        let of = |is_back: bool, end: Role| {
            let is_received = |rate: &Rate| match rate.end {
                Some(end) => end == Role::Receiver,
                None => self.way.is_server || is_only_back || is_back || rate.loss_pct.is_some(),
            };
            let is_one = |rate: &&Rate| {
                rate.is_back == is_back && is_received(rate) == (end == Role::Receiver)
            };
            only_sum(totals.iter().filter(is_one).collect())
        };
        let mbps = |rates: &[&Rate]| {
            (!rates.is_empty()).then(|| rates.iter().map(|rate| rate.mbps).sum::<f64>())
        };
        let (sent, received) = (of(false, Role::Sender), of(false, Role::Receiver));
        let back = of(true, Role::Receiver);
        run.figure("send_throughput_mbps", mbps(&sent));
        run.figure("throughput_mbps", mbps(&received));
        run.figure("background_throughput_mbps", mbps(&back));
        if self.is_udp {
            let of_loss = match self.is_silent() && !self.way.is_server {
                true => &sent,
                false => &received,
            };
            let jitters = of_loss.iter().filter_map(|rate| rate.jitter_us);
            run.figure("jitter_us", jitters.reduce(f64::max));
            run.figure(
                "loss_pct",
                mean(of_loss.iter().filter_map(|rate| rate.loss_pct)),
            );
            run.derive_received();
        } else {
            let again: Option<f64> = sent.iter().map(|rate| rate.again).sum();
            run.figure("retransmits", again.filter(|_| !sent.is_empty()));
            if let (Some(rate), true) = (mbps(&sent), received.is_empty()) {
                run.figure("throughput_mbps", Some(rate));
                run.note("throughput is what the sender sent, the file has no other: it counts what was still in the send buffer at the end");
            }
        }
        let own = totals.iter().filter(|rate| !rate.is_sum() && !rate.is_back);
        let flows: HashSet<i32> = own.map(|rate| rate.id).collect();
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

    /// The intervals of the own end: of the sum of all flows where there is one.
    fn intervals(&self, run: &mut Run, intervals: &[Rate]) {
        let own: Vec<&Rate> = intervals.iter().filter(|rate| !rate.is_back).collect();
        let has_sum = own.iter().any(|rate| rate.is_sum());
        for rate in own.iter().filter(|rate| rate.is_sum() == has_sum) {
            let figures = [
                ("throughput_mbps", Some(rate.mbps)),
                ("retransmits", rate.again.filter(|_| !self.is_udp)),
                ("loss_pct", rate.loss_pct),
                ("jitter_us", rate.jitter_us),
            ];
            run.interval(self.way.own(), rate.span, &figures);
        }
    }
}

/// The totals without those that are 0 because their end was not asked; where no other is left, with
/// the mean of the intervals that `end` counted.
fn without_zeros(run: &mut Run, totals: Vec<Rate>, intervals: &[Rate], end: Role) -> Vec<Rate> {
    let is_known = |rate: &&Rate| rate.mbps > 0.0 || rate.loss_pct == Some(100.0);
    let side = |rate: &Rate| (rate.is_back, rate.flow().2);
    let known: HashSet<_> = totals.iter().filter(is_known).map(side).collect();
    let moved = totals
        .iter()
        .chain(intervals)
        .filter(|rate| rate.mbps > 0.0);
    let moved: HashSet<bool> = moved.map(|rate| rate.is_back).collect();
    let is_kept = |rate: &Rate| known.contains(&side(rate)) || !moved.contains(&rate.is_back);
    let (mut kept, zeros): (Vec<Rate>, Vec<Rate>) = totals.into_iter().partition(is_kept);
    let mut sums: HashMap<(i32, bool), [f64; 2]> = HashMap::new();
    for rate in intervals {
        let [mbit, seconds] = sums.entry((rate.id, rate.is_back)).or_default();
        let length = rate.span[1] - rate.span[0];
        *mbit += rate.mbps * length;
        *seconds += length;
    }
    for zero in zeros {
        // Of several totals of a flow the first.
        let [mbit, seconds] = sums.remove(&(zero.id, zero.is_back)).unwrap_or_default();
        let is_alone = known.iter().all(|(is_back, _)| *is_back != zero.is_back);
        if is_alone && seconds > 0.0 {
            run.note("a rate is the mean of its intervals: the total in the file is 0");
            let (mbps, end) = (mbit / seconds, Some(end));
            kept.push(Rate { mbps, end, ..zero });
        }
    }
    kept
}

/// The line of all flows where there is one.
fn only_sum(rates: Vec<&Rate>) -> Vec<&Rate> {
    match rates.iter().find(|rate| rate.is_sum()) {
        Some(sum) => vec![*sum],
        None => rates,
    }
}
