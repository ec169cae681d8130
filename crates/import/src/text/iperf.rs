//! A test that iperf3 or iperf 2 describes in lines, of which its totals are read.

use std::collections::{BTreeMap, HashSet};

use bitcost_model::conditions::Direction;
use bitcost_model::record::Role;

use super::forms::Line;
use crate::run::{Done, Run, Sums, Way, mbps, mean};

/// The most flows of a run.
const MOST_FLOWS: usize = 10_000;

/// All flows, as version 2 writes them in CSV.
const SUM: i32 = -1;

/// The rate of one flow, or of all.
pub(super) struct Rate {
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
}

#[derive(Default)]
pub(super) struct Test {
    pub way: Way,
    is_udp: bool,
    is_three: bool,
    /// The port of version 2's listener, and the flows that come to it at the client.
    port: Option<String>,
    backs: HashSet<i32>,
    /// The server's host of the first flow.
    server: Option<String>,
    /// The last rate of each flow, way and end that may be a total: it says its end, or begins at 0.
    rates: BTreeMap<(i32, bool, Role, bool), Rate>,
    /// The time until which there are rates, and whether there are intervals after the first.
    last_s: f64,
    is_going: bool,
}

impl Test {
    /// The test that follows where no line begins it.
    pub(super) fn next(&self) -> Test {
        Test {
            way: self.way,
            is_udp: self.is_udp,
            port: self.port.clone(),
            ..Test::default()
        }
    }

    pub(super) fn has_rates(&self) -> bool {
        !self.rates.is_empty()
    }

    /// What a line without rates says.
    pub(super) fn line(&mut self, line: &Line) {
        match line.form.is {
            "hosts" => {
                self.is_three |= line.form.tool == "iperf3";
                let is_client = !self.way.is_server && !self.is_three;
                if is_client && line.word("port") == self.port.as_deref() {
                    self.backs.extend(line.number("id").map(|id| id as i32));
                }
                self.host(line);
            }
            "reverse" => self.way.direction = Direction::Reverse,
            "datagrams" => self.is_udp = true,
            is => {
                self.way = Way {
                    direction: Direction::Forward,
                    is_server: is == "accept",
                };
                self.is_udp = line.word("udp").is_some();
                self.port = line.word("port").map(str::to_owned);
            }
        }
    }

    fn host(&mut self, line: &Line) {
        let server = line.word(["remote", "local"][usize::from(self.way.is_server)]);
        self.server = self.server.take().or(server.map(str::to_owned));
    }

    pub(super) fn rate(&self, line: &Line) -> Option<Rate> {
        let id = match line.word("id")? {
            "SUM" => SUM,
            id => id.parse().ok()?,
        };
        let is_back = match line.word("role") {
            Some(role) => ["RX-C", "TX-S"].contains(&role),
            None => line.word("back").is_some() || self.backs.contains(&id),
        };
        // Duplicates can make the count negative, which says nothing.
        let lost = line.number("lost").zip(line.number("of"));
        let lost = lost.filter(|(lost, of)| *of > 0.0 && *lost >= 0.0);
        let said = line.word("counted");
        let is_receiver = match said {
            Some(said) => said == "receiver",
            None if self.is_three => self.way.is_server,
            None => self.way.is_server != is_back || lost.is_some(),
        };
        Some(Rate {
            id,
            is_back,
            end: [Role::Sender, Role::Receiver][usize::from(is_receiver)],
            is_said: said.is_some(),
            span: [line.number("begin")?, line.number("end")?],
            mbps: mbps(
                line.number("rate")?,
                line.word("unit").unwrap_or("bits/sec"),
            )?,
            again: line.number("again"),
            loss_pct: lost.map(|(lost, of)| 100.0 * lost / of),
            jitter_us: line.number("jitter").map(|ms| ms * 1000.0),
        })
    }

    /// True for the first rate of another test: a flow begins again, and this is not the total of its
    /// intervals, which text without ends may have of a single one.
    pub(super) fn is_of_next(&self, rate: &Rate, line: &Line) -> bool {
        let may_begin = rate.is_said || line.word("local").is_some() && !self.is_going;
        rate.span[0] == 0.0 && may_begin && self.rates.contains_key(&rate.key())
    }

    pub(super) fn take(&mut self, rate: Rate, line: &Line) -> Done {
        self.is_udp |= rate.jitter_us.is_some();
        self.host(line);
        let [begin, end] = rate.span;
        self.last_s = self.last_s.max(end);
        match begin == 0.0 || rate.is_said {
            true => drop(self.rates.insert(rate.key(), rate)),
            false => self.is_going = true,
        }
        match self.rates.len() > MOST_FLOWS {
            true => Err(format!("more than {MOST_FLOWS} flows")),
            false => Ok(()),
        }
    }

    /// The totals. Those of version 3 say which end counted, but for version 3.1 with datagrams; in
    /// version 2 a total is a line of the whole time.
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
            totals.retain(|rate| rate.id != SUM);
        }
        totals
    }

    /// The total of a way that an end counted: that of all flows, where there is one.
    fn total(&self, totals: &[Rate], is_back: bool, end: Role) -> Sums {
        let is_one = |rate: &&Rate| rate.is_back == is_back && rate.end == end;
        let mut rates: Vec<&Rate> = totals.iter().filter(is_one).collect();
        if let Some(sum) = rates.iter().position(|rate| rate.id == SUM) {
            rates = vec![rates[sum]];
        }
        // A rate is 0 too where its end was not asked.
        let mbps: f64 = rates.iter().map(|rate| rate.mbps).sum();
        let is_lost = rates.iter().any(|rate| rate.loss_pct == Some(100.0));
        let mbps = Some(mbps).filter(|mbps| *mbps > 0.0 || is_lost);
        let again: Option<f64> = rates.iter().map(|rate| rate.again).sum();
        let jitters = rates.iter().filter_map(|rate| rate.jitter_us);
        Sums {
            sent: mbps.filter(|_| end == Role::Sender),
            received: mbps.filter(|_| end == Role::Receiver),
            again: again.filter(|_| !rates.is_empty() && !self.is_udp),
            loss_pct: mean(rates.iter().filter_map(|rate| rate.loss_pct)),
            jitter_us: jitters.reduce(f64::max),
        }
    }

    /// Its figures and levels, where it has rates.
    pub(super) fn sum_up(mut self, run: &mut Run) {
        if self.last_s == 0.0 {
            return;
        }
        let totals = self.totals();
        let is_said = totals.iter().any(|rate| rate.is_said);
        let total = |is_back, end| self.total(&totals, is_back, end);
        let (mut own, received) = (total(false, Role::Sender), total(false, Role::Receiver));
        let back = total(true, Role::Receiver).received;
        own.received = received.received;
        // Version 3.1 says what was lost in the client's total of what was sent.
        if !self.is_three || is_said || self.way.is_server {
            (own.loss_pct, own.jitter_us) = (received.loss_pct, received.jitter_us);
        }
        let silent = match totals.is_empty() {
            true => "no total: the test did not finish",
            false => "its totals are 0: nothing arrived, or its program does not say what did",
        };
        if own.sent.or(own.received).or(back).is_none() {
            run.error.get_or_insert(silent.to_owned());
        }
        let has_only_sent = own.received.is_none() && own.sent.is_some();
        if totals.iter().any(|rate| rate.is_back) {
            self.way.direction = Direction::Both;
        } else if self.way.is_server && has_only_sent {
            // A server does not say it, but has a sum of what it sent.
            self.way.direction = Direction::Reverse;
        }
        if !self.is_udp && has_only_sent {
            own.received = own.sent;
            run.note("throughput is what the sender sent, the file has no other: it counts what was still in the send buffer at the end");
        }
        run.sums(&own, back);
        let flows = totals.iter().filter(|rate| rate.id != SUM && !rate.is_back);
        let flows: HashSet<i32> = flows.map(|rate| rate.id).collect();
        run.setting("flows", Some(flows.len() as f64));
        if self.is_three || is_said {
            run.imported.tool = "iperf3".to_owned();
        }
        run.level(
            "protocol",
            ["tcp", "udp"][usize::from(self.is_udp)].to_owned(),
        );
        run.way(self.way.direction, self.server);
    }
}
