//! One run as the file of another program reports it.

use bitcost_model::conditions::Direction;
use bitcost_model::harmless;
use bitcost_model::imported::ImportedRun;
use bitcost_model::record::Role;
use bitcost_model::study::Label;

/// The most runs of a file.
const MOST_RUNS: usize = 10_000;

/// Counts from here on have wrapped: they are small negative numbers in 32 bits.
const WRAPPED: f64 = 2_147_483_648.0;

/// Figures of which the first is at most the second, up to the rounding and the edges of a test.
const ORDERED: [[&str; 2]; 5] = [
    ["throughput_mbps", "send_throughput_mbps"],
    ["latency_p50_us", "latency_p90_us"],
    ["latency_p90_us", "latency_p99_us"],
    ["latency_p99_us", "latency_max_us"],
    ["latency_mean_us", "latency_max_us"],
];
const EDGES: f64 = 1.1;

/// Why reading ended before its time.
pub(crate) type Done = Result<(), String>;

/// The runs of a file so far.
#[derive(Default)]
pub(crate) struct Runs {
    pub file: String,
    pub all: Vec<Run>,
}

impl Runs {
    /// A run of this file, which is not yet one of its runs.
    pub fn begin(&self, tool: &str) -> Run {
        let mut run = Run::default();
        run.imported.tool = tool.to_owned();
        run.imported.file = self.file.clone();
        run
    }

    /// Says of the last run what holds for the file.
    pub fn note(&mut self, note: &str) {
        let note = format!("{}: {note}", self.file);
        if let Some(last) = self.all.last_mut() {
            last.note(note);
        }
    }

    pub fn push(&mut self, run: Run) -> Done {
        self.all.push(run.without_impossible());
        match self.all.len() > MOST_RUNS {
            true => Err(format!("it holds more than {MOST_RUNS} runs")),
            false => Ok(()),
        }
    }
}

/// The direction of a test, and which end of it wrote the file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Way {
    pub direction: Direction,
    pub is_server: bool,
}

impl Way {
    /// The role of the host that wrote the file.
    pub fn own(self) -> Role {
        self.direction.role_of(match self.is_server {
            true => Role::Receiver,
            false => Role::Sender,
        })
    }
}

/// What iperf says of a direction: rates in Mbit/s, retransmissions, and of datagrams the loss in per
/// cent and the jitter in µs.
#[derive(Default)]
pub(crate) struct Sums {
    pub sent: Option<f64>,
    pub received: Option<f64>,
    pub again: Option<f64>,
    pub loss_pct: Option<f64>,
    pub jitter_us: Option<f64>,
}

impl Sums {
    /// What arrived of what was sent.
    pub fn derived(&self) -> Option<f64> {
        let (sent, lost) = self.sent.zip(self.loss_pct)?;
        Some(sent * (1.0 - lost / 100.0))
    }
}

/// A number; absent where it means *not measured*: below 0, or −1 printed without its sign
/// (18446744073709551615, iperf3 up to 3.13).
pub(crate) fn measured(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    (0.0..9.2e18).contains(&number).then_some(number)
}

/// A rate in Mbit/s; absent where its units, as netperf or iperf write them, are unknown.
pub(crate) fn mbps(rate: f64, units: &str) -> Option<f64> {
    let units = units.trim().to_ascii_lowercase();
    let (prefix, unit) = units.split_at(units.find('b')?);
    let prefixes = ["", "k 10^3", "m 10^6", "g 10^9", "t 10^12"];
    let is = |names: &&str| names.split(' ').any(|name| name == prefix);
    let power = prefixes.iter().position(is)? as i32;
    let bits = match unit {
        _ if unit.starts_with("bits") => 1000_f64.powi(power),
        _ if unit.starts_with("bytes") => 8.0 * 1024_f64.powi(power),
        _ => return None,
    };
    // So that Mbit stay as they are written.
    Some(match bits < 1e6 {
        true => rate * bits / 1e6,
        false => rate * (bits / 1e6),
    })
}

pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    pub imported: ImportedRun,
    /// The error that the program reports; the run then counts as failed.
    pub error: Option<String>,
    /// What the two documents of one test have in common.
    pub cookie: Option<String>,
    /// True where the server wrote the file.
    pub is_server: bool,
}

impl Run {
    /// A setting in words, where the file says it.
    pub(crate) fn level(&mut self, factor: &str, words: impl Into<Option<String>>) {
        if let Some(words) = words.into() {
            let label = Label::Text(harmless(&words));
            self.imported.levels.insert(harmless(factor), label);
        }
    }

    /// A setting that was requested; 0 means that it was left to the system.
    pub(crate) fn setting(&mut self, factor: &str, value: Option<f64>) {
        if let Some(value) = value.filter(|value| (1.0..9e15).contains(value)) {
            let label = Label::Number(value as i64);
            self.imported.levels.insert(factor.to_owned(), label);
        }
    }

    pub(crate) fn figure(&mut self, metric: &str, value: Option<f64>) {
        if let Some(value) = value {
            self.imported.figures.insert(metric.to_owned(), value);
        }
    }

    pub(crate) fn get(&self, metric: &str) -> Option<f64> {
        self.imported.figures.get(metric).copied()
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.imported.notes.contains(&note) {
            self.imported.notes.push(note);
        }
    }

    /// The direction of a test, and the server's host. The client's address may be another at each
    /// repeat, and is no setting.
    pub(crate) fn way(&mut self, direction: Direction, server: Option<String>) {
        self.level(direction.role_of(Role::Receiver).name(), server);
        self.level("direction", direction.name().to_owned());
    }

    /// What a test says of its own direction, and what arrived in the opposite one. What arrived is
    /// derived where the file says only what was sent, and which share was lost.
    pub(crate) fn sums(&mut self, own: &Sums, received_back: Option<f64>) {
        let derived = own.derived().filter(|_| own.received.is_none());
        for (name, value) in [
            ("send_throughput_mbps", own.sent),
            ("throughput_mbps", own.received.or(derived)),
            ("retransmits", own.again),
            ("loss_pct", own.loss_pct),
            ("jitter_us", own.jitter_us),
            ("background_throughput_mbps", received_back),
        ] {
            self.figure(name, value);
        }
        if derived.is_some() {
            self.note("throughput is derived: what was sent × (1 − loss); the file does not say what arrived");
        }
    }

    /// Leaves out what cannot be, with a note.
    fn without_impossible(mut self) -> Run {
        let mut notes = Vec::new();
        self.imported.figures.retain(|name, value| {
            let is_possible = match name.as_str() {
                "loss_pct" => (0.0..=100.0).contains(value),
                "retransmits" => (0.0..WRAPPED).contains(value),
                _ => value.is_finite() && *value >= 0.0,
            };
            let note = format!("{name} of {value} in the file is impossible; left out");
            notes.extend((!is_possible).then_some(note));
            is_possible
        });
        for [less, more] in ORDERED {
            let pair = self.get(less).zip(self.get(more));
            if let Some((low, high)) = pair.filter(|(low, high)| *low > high * EDGES) {
                notes.push(format!(
                    "{less} of {low} above {more} of {high} in the file is impossible; both left out"
                ));
                self.imported.figures.remove(less);
                self.imported.figures.remove(more);
            }
        }
        if self.error.is_none() && self.imported.figures.is_empty() {
            self.error = notes.first().cloned();
        }
        notes.into_iter().for_each(|note| self.note(note));
        self
    }

    /// Takes what only the other end of the same test reports.
    pub(crate) fn join(&mut self, other: Run) {
        let (own, other) = (&mut self.imported, other.imported);
        for (name, value) in other.figures {
            own.figures.entry(name).or_insert(value);
        }
        own.notes.extend(other.notes);
        let files = (other.file, &own.file);
        let note = format!("{} is the other end of the test in {}", files.0, files.1);
        own.notes.push(note);
    }
}
