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
#[derive(Clone, Copy, Debug)]
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
    /// The right limiters, by their names in JSON, where the name does not begin with the only one.
    /// If there are two, both must be named if `is_divided`.
    other_right: &'static [&'static str],
    /// Whether both limit, each for a part of the time.
    pub is_divided: bool,
    /// Whether no bound was chosen by means of it.
    pub is_variant: bool,
    /// The kind of traffic.
    pub workload: Workload,
    /// Settings by the names that studies use: `name=value; name=value`.
    settings: &'static str,
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

/// A scenario whose name begins with the right verdict, with these settings.
pub(super) const fn of(name: &'static str, settings: &'static str) -> Scenario {
    Scenario {
        name,
        other_right: &[],
        is_divided: false,
        is_variant: false,
        workload: Workload::TcpStream,
        settings,
        scaled: None,
        between: Between::Wire,
        mtu_bytes: 1500,
        quota: None,
        sweep: &[],
        stripped: Stripped::Nothing,
    }
}

/// The same for a scenario by means of which no threshold was chosen.
pub(super) const fn variant(name: &'static str, settings: &'static str) -> Scenario {
    Scenario {
        is_variant: true,
        ..of(name, settings)
    }
}

/// What a scenario may have besides.
impl Scenario {
    /// Datagrams.
    pub(super) const fn udp(mut self) -> Scenario {
        self.workload = Workload::UdpStream;
        self
    }

    /// Other right verdicts than the one with which its name begins.
    pub(super) const fn rightly(mut self, right: &'static [&'static str]) -> Scenario {
        self.other_right = right;
        self
    }

    /// Both right verdicts, each for a part of the time.
    pub(super) const fn divided(mut self) -> Scenario {
        self.is_divided = true;
        self
    }

    /// Settings that follow from what the machine can do.
    pub(super) const fn scaled(mut self, scaled: Scaled) -> Scenario {
        self.scaled = Some(scaled);
        self
    }

    /// What is between the hosts.
    pub(super) const fn between(mut self, between: Between) -> Scenario {
        self.between = between;
        self
    }

    /// A link emulator with this round-trip time, in ms.
    pub(super) const fn path(self, rtt_ms: u64) -> Scenario {
        self.between(Between::Emulator(PathSettings {
            rtt_ms,
            loss_pct: 0.0,
            rate_bps: None,
        }))
    }

    /// One that also loses packets, in per cent.
    pub(super) const fn lossy_path(self, loss_pct: f64, rtt_ms: u64) -> Scenario {
        self.between(Between::Emulator(PathSettings {
            rtt_ms,
            loss_pct,
            rate_bps: None,
        }))
    }

    /// One that also has a rate, in bit/s.
    pub(super) const fn rate_path(self, rate_bps: u64, rtt_ms: u64) -> Scenario {
        self.between(Between::Emulator(PathSettings {
            rtt_ms,
            loss_pct: 0.0,
            rate_bps: Some(rate_bps),
        }))
    }

    /// Runs of further sizes over jumbo frames, which give the cost model.
    pub(super) const fn swept(mut self, sizes: &'static [u32]) -> Scenario {
        (self.sweep, self.mtu_bytes) = (sizes, 8896);
        self
    }

    /// A quota of an endpoint's CPU time.
    pub(super) const fn quota(mut self, quota: Quota) -> Scenario {
        self.quota = Some(quota);
        self
    }

    /// Records that lack a part.
    pub(super) const fn stripped(mut self, stripped: Stripped) -> Scenario {
        self.stripped = stripped;
        self
    }
}

/// A rate in whole Mbit/s, at least 1: the kernel keeps rates in whole bytes per second, so that
/// others are not read back as they were requested.
pub(super) fn whole_mbps(bps: f64) -> f64 {
    (bps / 1e6).floor().max(1.0)
}

/// Datagrams as fast as the sender can.
pub const WHOLE_UDP: Scenario = of("able: UDP of 1400 B", "message_size_bytes=1400").udp();

/// A stream as fast as both endpoints can.
pub const WHOLE_TCP: Scenario = of("able: TCP", "");

/// A stream of small messages.
pub const SMALL_TCP: Scenario = of("able: TCP of 128 B", "message_size_bytes=128");

/// A stream of tiny messages.
pub const TINY_TCP: Scenario = of(
    "able: TCP of 64 B",
    "congestion_control=cubic; message_size_bytes=64",
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
        self.settings().any(|(name, _)| name == "stress")
    }

    /// Its settings, by the names that studies use.
    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let pairs = self.settings.split("; ");
        pairs.filter_map(|pair| pair.split_once('='))
    }

    /// The right limiters, by their names in JSON.
    pub fn right(&self) -> Vec<&'static str> {
        match self.other_right {
            [] => vec![self.group()],
            others => others.to_vec(),
        }
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
