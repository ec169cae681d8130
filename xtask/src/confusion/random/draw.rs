//! Draws situations: a path, a workload, its options, and load on the machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use super::factor::{DRAWN, Factor, Kind};

/// A situation.
#[derive(Clone, Debug)]
pub struct Situation {
    /// The workload's verb: `tcp`, `udp` or `rr`.
    pub workload: &'static str,
    /// An embedded lab; absent where a link is drawn.
    pub lab: Option<&'static str>,
    /// What may limit it.
    pub factors: Vec<Factor>,
    /// Options that are not varied.
    pub options: Vec<String>,
}

impl Situation {
    /// A stream over the embedded wire.
    pub fn plain() -> Situation {
        Situation {
            workload: "tcp",
            lab: Some("wire"),
            factors: Vec::new(),
            options: Vec::new(),
        }
    }

    /// The situation with this factor instead of the one of its kind, or in addition.
    pub fn with(&self, factor: Factor) -> Situation {
        let mut changed = self.clone();
        changed.factors.retain(|own| own.kind != factor.kind);
        changed.factors.push(factor);
        changed
    }

    /// The value of a kind.
    pub fn value(&self, kind: Kind) -> Option<f64> {
        let found = self.factors.iter().find(|factor| factor.kind == kind);
        found.map(|factor| factor.value)
    }

    /// Its lab file; absent where it has an embedded lab.
    pub fn topology(&self) -> Option<String> {
        if self.lab.is_some() {
            return None;
        }
        let lines: Vec<String> = self
            .factors
            .iter()
            .filter_map(|factor| factor.line())
            .collect();
        Some(format!(
            "hosts = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h2\"]\n{}\n",
            lines.join("\n")
        ))
    }

    /// The situation in a line.
    pub fn text(&self) -> String {
        let factors: Vec<String> = self.factors.iter().map(Factor::to_string).collect();
        format!(
            "{} over {}: {} {}",
            self.workload,
            self.lab.unwrap_or("a link"),
            factors.join(", "),
            self.options.join(" ")
        )
    }
}

/// Draws one situation after the other from a seed.
pub struct Draw {
    random: ChaCha8Rng,
    /// What a stream over the embedded wire reaches on this machine, in bit/s.
    able_bps: f64,
}

impl Draw {
    /// The situations of this seed on a machine that can do this much.
    pub fn new(seed: u64, able_bps: f64) -> Draw {
        let random = ChaCha8Rng::seed_from_u64(seed);
        Draw { random, able_bps }
    }

    fn unit(&mut self) -> f64 {
        f64::from(self.random.next_u32()) / f64::from(u32::MAX)
    }

    fn is(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// A value whose logarithm is uniform.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        (low.ln() + self.unit() * (high / low).ln()).exp()
    }

    /// The next situation.
    pub fn next(&mut self) -> Situation {
        let workload = match self.unit() {
            part if part < 0.65 => "tcp",
            part if part < 0.85 => "udp",
            _ => "rr",
        };
        let lab = match self.unit() {
            part if part < 0.2 => Some("pair"),
            part if part < 0.4 => Some("wire"),
            _ => None,
        };
        let mut factors = Vec::new();
        for kind in DRAWN {
            let drawn = self.is(probability(kind, workload, lab.is_some()));
            let value = self.value(kind, workload);
            if drawn {
                factors.push(Factor { kind, value });
            }
        }
        let mut options = Vec::new();
        if workload == "tcp" && self.is(0.5) {
            let name = if self.is(0.5) { "cubic" } else { "reno" };
            options.extend(["-C".to_owned(), name.to_owned()]);
        }
        if self.is(0.15) {
            let cpus = ["--sender-cpus", "0", "--receiver-cpus", "0"];
            options.extend(cpus.map(str::to_owned));
        }
        Situation {
            workload,
            lab,
            factors,
            options,
        }
    }

    fn value(&mut self, kind: Kind, workload: &str) -> f64 {
        let able = self.able_bps;
        match kind {
            Kind::Rate => self.between(20e6, 1.5 * able),
            Kind::Delay => self.between(100.0, 30_000.0),
            Kind::Loss => self.between(0.01, 3.0),
            Kind::Queue => self.between(10.0, 2000.0).round(),
            Kind::ReceiveBuffer => self.between(8e3, 2e6).round(),
            Kind::SendBuffer => self.between(8e3, 2e6).round(),
            Kind::MessageSize if workload == "udp" => self.between(64.0, 8192.0).round(),
            Kind::MessageSize => self.between(64.0, 262_144.0).round(),
            Kind::ApplicationRate => self.between(10e6, able).round(),
            Kind::SendWork | Kind::ReceiveWork => self.between(100.0, 50_000.0).round(),
            Kind::Flows => self.between(2.0, 8.0).round(),
            Kind::Stress => self.between(20.0, 100.0).round(),
            Kind::Quota => self.between(20.0, 200.0).round(),
            Kind::SenderCpu | Kind::ReceiverCpu | Kind::WakeUps => 0.0,
        }
    }
}

/// How probable a kind is in a situation.
fn probability(kind: Kind, workload: &str, is_embedded: bool) -> f64 {
    let is_stream = workload != "rr";
    match kind {
        _ if kind.is_of_link() && is_embedded => 0.0,
        Kind::Rate => 0.7,
        Kind::Delay => 0.6,
        Kind::Loss => 0.25,
        Kind::Queue => 0.3,
        Kind::ReceiveBuffer => 0.3,
        Kind::ReceiveWork => 0.2,
        Kind::SendWork if is_stream => 0.2,
        Kind::Stress => 0.15,
        Kind::Quota => 0.08,
        Kind::MessageSize if is_stream => 0.5,
        Kind::ApplicationRate if is_stream => 0.25,
        Kind::Flows if is_stream => 0.2,
        Kind::SendBuffer if workload == "tcp" => 0.2,
        _ => 0.0,
    }
}
