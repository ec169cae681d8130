//! The scenarios: what is set, and what then limits the flow by construction.

mod ends;
mod path;
mod thin;

use model::record::Role;

/// What lies between the two hosts.
#[derive(Clone, Copy, Debug)]
pub enum Between {
    /// The wire that plays the network cards.
    Wire,
    /// The same with this queueing discipline at its port towards the receiver.
    Queue(&'static str),
    /// A delay line that no counter tells of.
    Line(Line),
    /// The lab of this lab file, with all its counters.
    Lab(&'static str),
}

/// What a delay line does on the way to the receiver; the way back has half of the delay, too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line {
    /// Round-trip time, in ms.
    pub rtt_ms: u64,
    /// Packets lost, in per cent.
    pub loss_pct: f64,
    /// Rate, in bit/s.
    pub rate_bps: Option<u64>,
}

/// What is taken out of the records before they are judged.
#[derive(Clone, Copy, Debug)]
pub enum Stripped {
    /// Nothing.
    Nothing,
    /// What the connections and their sockets say.
    Connections,
    /// The times of threads.
    Threads,
}

/// A run whose limiter is known.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name; it begins with the limiter's.
    pub name: &'static str,
    /// Limiters that are right, by their names in JSON. Where there are two, both must be named if `is_divided`.
    pub right: &'static [&'static str],
    /// True where both limit, each for a part of the time.
    pub is_divided: bool,
    /// True where no bound was set by it.
    pub is_variant: bool,
    /// `tcp` or `udp`.
    pub test: &'static str,
    /// Settings by the names that studies use.
    pub settings: &'static [(&'static str, &'static str)],
    /// The path.
    pub between: Between,
    /// MTU of the links, in bytes.
    pub mtu_bytes: u32,
    /// An end whose CPU time has a quota, in per cent of a CPU.
    pub quota: Option<(Role, u32)>,
    /// Sizes of messages, in bytes, of further runs that give the cost model which its verdict needs.
    pub sweep: &'static [u32],
    /// What its records lack.
    pub stripped: Stripped,
}

const BASE: Scenario = Scenario {
    name: "",
    right: &[],
    is_divided: false,
    is_variant: false,
    test: "tcp",
    settings: &[],
    between: Between::Wire,
    mtu_bytes: 1500,
    quota: None,
    sweep: &[],
    stripped: Stripped::Nothing,
};

const fn of(
    name: &'static str,
    right: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
) -> Scenario {
    Scenario { name, right, settings, ..BASE }
}

const fn variant(
    name: &'static str,
    right: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
) -> Scenario {
    Scenario { is_variant: true, ..of(name, right, settings) }
}

const fn line(rtt_ms: u64) -> Line {
    Line { rtt_ms, loss_pct: 0.0, rate_bps: None }
}

const CUBIC: (&str, &str) = ("congestion_control", "cubic");
const BBR: (&str, &str) = ("congestion_control", "bbr");
const RENO: (&str, &str) = ("congestion_control", "reno");

/// Every scenario.
pub fn all() -> impl Iterator<Item = &'static Scenario> {
    [path::SCENARIOS, ends::SCENARIOS, thin::SCENARIOS].into_iter().flatten()
}

impl Scenario {
    /// What limits by construction: the part of the name before the colon.
    pub fn group(&self) -> &'static str {
        self.name.split(':').next().unwrap_or(self.name)
    }

    /// The part behind it.
    pub fn what(&self) -> &'static str {
        self.name.split_once(": ").map_or(self.name, |(_, what)| what)
    }
}
