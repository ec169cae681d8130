//! Draws situations: a path, a workload, its options, and load on the machine.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::factor::{DRAWN, Factor, Kind};

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

    pub fn value(&self, kind: Kind) -> Option<f64> {
        let found = self.factors.iter().find(|factor| factor.kind == kind);
        found.map(|factor| factor.value)
    }

    /// Its lab file; absent where it has an embedded lab.
    pub fn topology(&self) -> Option<String> {
        if self.lab.is_some() {
            return None;
        }
        let lines = self.factors.iter().filter_map(|factor| factor.line());
        let lines: Vec<String> = lines.collect();
        Some(format!(
            "hosts = [\"h1\", \"h2\"]\n[[link]]\nends = [\"h1\", \"h2\"]\n{}\n",
            lines.join("\n")
        ))
    }

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
            let (probability, low, high) = spread(kind, workload, lab.is_some(), self.able_bps);
            let drawn = self.is(probability);
            let value = self.between(low, high);
            let value = match kind {
                Kind::Rate | Kind::Delay | Kind::Loss => value,
                _ => value.round(),
            };
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
}

/// How probable a kind is in a situation, and the least and the greatest value.
fn spread(kind: Kind, workload: &str, is_embedded: bool, able_bps: f64) -> (f64, f64, f64) {
    let (probability, low, high) = match kind {
        Kind::Rate => (0.7, 20e6, 1.5 * able_bps),
        Kind::Delay => (0.6, 100.0, 30_000.0),
        Kind::Loss => (0.25, 0.01, 3.0),
        Kind::Queue => (0.3, 10.0, 2000.0),
        Kind::ReceiveBuffer => (0.3, 8e3, 2e6),
        Kind::SendBuffer => (0.2, 8e3, 2e6),
        Kind::MessageSize if workload == "udp" => (0.5, 64.0, 8192.0),
        Kind::MessageSize => (0.5, 64.0, 262_144.0),
        Kind::ApplicationRate => (0.25, 10e6, able_bps),
        Kind::SendWork | Kind::ReceiveWork => (0.2, 100.0, 50_000.0),
        Kind::Flows => (0.2, 2.0, 8.0),
        Kind::Stress => (0.15, 20.0, 100.0),
        Kind::Quota => (0.08, 20.0, 200.0),
        Kind::SenderCpu | Kind::ReceiverCpu | Kind::WakeUps => (0.0, 1.0, 1.0),
    };
    let is_possible = match kind {
        Kind::SendBuffer => workload == "tcp",
        _ if kind.is_of_link() => !is_embedded,
        Kind::SendWork | Kind::MessageSize | Kind::ApplicationRate | Kind::Flows => {
            workload != "rr"
        }
        _ => true,
    };
    (if is_possible { probability } else { 0.0 }, low, high)
}
