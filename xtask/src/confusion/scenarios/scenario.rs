//! A run whose bottleneck is known by construction.

use bitcost_model::conditions::Workload;
use bitcost_model::record::Role;

use crate::confusion::able::Able;

/// The path between the two hosts.
#[derive(Clone, Copy, Debug)]
pub enum Between {
    /// The wire that plays the network cards.
    Wire,
    /// The same with this queueing discipline at its port towards the receiver.
    Queue(&'static str),
    /// The same with one whose settings follow from what the machine can do.
    ScaledQueue(fn(&Able) -> String),
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

/// A quota of an endpoint's CPU time.
#[derive(Clone, Copy, Debug)]
pub enum Quota {
    /// In per cent of a CPU.
    Percent(Role, u32),
    /// A share of what the endpoint uses without one.
    ShareOfUse(Role, f64),
}

impl Quota {
    /// The endpoint.
    pub fn role(self) -> Role {
        match self {
            Quota::Percent(role, _) | Quota::ShareOfUse(role, _) => role,
        }
    }

    /// In per cent of a CPU.
    pub fn percent(self, able: &Able) -> u32 {
        match self {
            Quota::Percent(_, percent) => percent,
            Quota::ShareOfUse(role, share) => {
                let cpus = able.tcp_cpus[usize::from(role == Role::Receiver)];
                (100.0 * share * cpus).clamp(5.0, 90.0) as u32
            }
        }
    }
}

/// Settings, by the names that studies use, that follow from what the machine can do.
pub type Scaled = fn(&Able) -> Vec<(&'static str, String)>;

/// A run whose bottleneck is known.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Its name; it begins with the limiter's.
    pub name: &'static str,
    /// Its name in recordings of the time when its rates were fixed.
    pub formerly: Option<&'static str>,
    /// The right limiters, by their names in JSON. If there are two, both must be named if
    /// `is_divided`.
    pub right: &'static [&'static str],
    /// Whether both limit, each for a part of the time.
    pub is_divided: bool,
    /// Whether no bound was chosen by means of it.
    pub is_variant: bool,
    /// The kind of traffic.
    pub workload: Workload,
    /// Settings by the names that studies use.
    pub settings: &'static [(&'static str, &'static str)],
    /// Settings that follow from what the machine can do.
    pub scaled: Option<Scaled>,
    /// The path.
    pub between: Between,
    /// MTU of the links, in bytes.
    pub mtu_bytes: u32,
    /// The quota of an endpoint's CPU time.
    pub quota: Option<Quota>,
    /// Sizes of messages, in bytes, of further runs that give the cost model which its verdict
    /// needs.
    pub sweep: &'static [u32],
    /// The part that its records lack.
    pub stripped: Stripped,
}

const BASE: Scenario = Scenario {
    name: "",
    formerly: None,
    right: &[],
    is_divided: false,
    is_variant: false,
    workload: Workload::TcpStream,
    settings: &[],
    scaled: None,
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

/// A rate in whole Mbit/s, at least 1: the kernel keeps rates in whole bytes per second, so that
/// others are not read back as they were requested.
pub(super) fn whole_mbps(bps: f64) -> f64 {
    (bps / 1e6).floor().max(1.0)
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

/// Datagrams as fast as the sender can.
pub const WHOLE_UDP: Scenario = Scenario {
    workload: Workload::UdpStream,
    ..of(
        "able: UDP of 1400 B",
        &[],
        &[("message_size_bytes", "1400")],
    )
};

/// A stream as fast as both endpoints can.
pub const WHOLE_TCP: Scenario = of("able: TCP", &[], &[]);

/// A stream of small messages.
pub const SMALL_TCP: Scenario = of("able: TCP of 128 B", &[], &[("message_size_bytes", "128")]);

/// A stream of tiny messages.
pub const TINY_TCP: Scenario = of(
    "able: TCP of 64 B",
    &[],
    &[CUBIC, ("message_size_bytes", "64")],
);

impl Scenario {
    /// True where something of it follows from what the machine can do.
    pub fn is_scaled(&self) -> bool {
        self.scaled.is_some()
            || matches!(self.between, Between::ScaledQueue(_))
            || matches!(self.quota, Some(Quota::ShareOfUse(..)))
    }

    /// True where other programs take the CPU of an endpoint.
    pub fn is_contended(&self) -> bool {
        self.settings.iter().any(|(name, _)| *name == "stress")
    }

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
