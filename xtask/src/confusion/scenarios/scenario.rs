//! A run whose bottleneck is known by construction.

use bitcost_model::record::Role;

/// The path between the two hosts.
#[derive(Clone, Copy, Debug)]
pub enum Between {
    /// The wire that plays the network cards.
    Wire,
    /// The same with this queueing discipline at its port towards the receiver.
    Queue(&'static str),
    /// A link emulator that no counter reports.
    Emulator(PathSettings),
    /// The lab of this lab file, with all its counters.
    Lab(&'static str),
}

/// The settings of the link emulator towards the receiver; the other direction also has half of the
/// delay.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathSettings {
    /// Round-trip time, in ms.
    pub rtt_ms: u64,
    /// Packets lost, in per cent.
    pub loss_pct: f64,
    /// Rate, in bit/s.
    pub rate_bps: Option<u64>,
}

/// The part of the records that is removed before they are judged.
#[derive(Clone, Copy, Debug)]
pub enum Stripped {
    /// Nothing.
    Nothing,
    /// The figures of the connections and their sockets.
    Connections,
    /// The times of threads.
    Threads,
}

/// A run whose bottleneck is known.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name; it begins with the limiter's.
    pub name: &'static str,
    /// The right limiters, by their names in JSON. If there are two, both must be named if
    /// `is_divided`.
    pub right: &'static [&'static str],
    /// Whether both limit, each for a part of the time.
    pub is_divided: bool,
    /// Whether no bound was chosen by means of it.
    pub is_variant: bool,
    /// `tcp` or `udp`.
    pub test: &'static str,
    /// Settings by the names that studies use.
    pub settings: &'static [(&'static str, &'static str)],
    /// The path.
    pub between: Between,
    /// MTU of the links, in bytes.
    pub mtu_bytes: u32,
    /// The endpoint whose CPU time has a quota, in per cent of a CPU.
    pub quota: Option<(Role, u32)>,
    /// Sizes of messages, in bytes, of further runs that give the cost model which its verdict
    /// needs.
    pub sweep: &'static [u32],
    /// The part that its records lack.
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

/// A scenario with these right verdicts and settings.
pub(super) const fn of(
    name: &'static str,
    right: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
) -> Scenario {
    Scenario {
        name,
        right,
        settings,
        ..BASE
    }
}

/// The same for a scenario by means of which no threshold was chosen.
pub(super) const fn variant(
    name: &'static str,
    right: &'static [&'static str],
    settings: &'static [(&'static str, &'static str)],
) -> Scenario {
    Scenario {
        is_variant: true,
        ..of(name, right, settings)
    }
}

/// A path with this round-trip time, in ms.
pub(super) const fn line(rtt_ms: u64) -> PathSettings {
    PathSettings {
        rtt_ms,
        loss_pct: 0.0,
        rate_bps: None,
    }
}

pub(super) const CUBIC: (&str, &str) = ("congestion_control", "cubic");
pub(super) const BBR: (&str, &str) = ("congestion_control", "bbr");
pub(super) const RENO: (&str, &str) = ("congestion_control", "reno");

impl Scenario {
    /// The limiter by construction: the part of the name before the colon.
    pub fn group(&self) -> &'static str {
        self.name.split(':').next().unwrap_or(self.name)
    }

    /// The part of the name after the colon.
    pub fn what(&self) -> &'static str {
        self.name
            .split_once(": ")
            .map_or(self.name, |(_, what)| what)
    }
}
