//! The types of a verdict: a limiter, the evidence for it, and how sure it is.

use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::explain::others::Others;
use crate::explain::rivals::Rival;
use crate::explain::signals::Signals;

/// Everything that is said of one limiter, and how it is found: one row of the table of limiters.
#[derive(Debug)]
pub struct LimiterRow {
    /// The name in JSON and in tables.
    pub name: &'static str,
    /// The name for people, without the place.
    pub title: &'static str,
    /// What to change to relax it.
    pub remedy: &'static str,
    /// How it is found; none for *unknown*.
    pub questions: &'static [Question],
}

/// One way in which a limiter shows.
#[derive(Debug)]
pub struct Question {
    /// When it is asked.
    pub step: Step,
    /// What it holds for, such as `UDP`; empty where the title says everything.
    pub about: &'static str,
    /// The evidence that must hold, in the words of docs/method/bottleneck.md.
    pub evidence: &'static str,
    /// Its candidates, each with all the evidence that must hold.
    pub rule: fn(&Signals) -> Vec<Candidate>,
}

bitcost_model::words! {
    /// The order in which questions are asked: by step, and within a step in the order of the table of
    /// limiters. The first whose evidence holds names the limiter.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Step {
        /// The rate grows until the run's end.
        Growth = "growth",
        /// A queue passes the whole rate that it is set to.
        SetRate = "set rate",
        /// Datagrams are lost.
        Loss = "loss",
        /// A control group's quota holds an endpoint back.
        Quota = "quota",
        /// An endpoint waits for CPUs that nothing else uses.
        Held = "held",
        /// A queue with known counters holds packets back to a rate.
        Queue = "queue",
        /// The congestion window is full and stands still.
        Clamp = "clamp",
        /// The program keeps a rate.
        Program = "program",
        /// Waking threads takes most of the time of transactions.
        WakeUps = "wake ups",
        /// The sender has no time left.
        Sender = "sender",
        /// The receiving program or its host has no time left.
        Receiver = "receiver",
        /// Both endpoints wait for the same CPUs.
        SharedCpus = "shared cpus",
        /// Each flow waits for the answer to its request.
        Latency = "latency",
        /// The kernel counts the time that a buffer limits the connection, the larger share first.
        Buffers = "buffers",
        /// A window or a buffer is full.
        Windows = "windows",
        /// Loss keeps the congestion window small.
        Congestion = "congestion",
        /// The path keeps a rate, and no counter of it is known.
        Path = "path",
    }
}

/// The place of what limits between the endpoints, where no counter is known.
pub const ON_THE_PATH: &str = "on the path";

/// The one limit that, if it were relaxed, would let the flow go faster, and its place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "Placed", into = "Placed")]
pub struct Limiter {
    row: &'static LimiterRow,
    place: String,
    /// The queue that it is at, by its name; absent for a limiter that is not a queue.
    hop: Option<String>,
}

impl LimiterRow {
    /// The limiter, where its title says everything.
    pub fn limiter(&'static self) -> Limiter {
        self.placed("")
    }

    /// The limiter at a place, which follows the title: `at h1-eth0`, `of the sender`.
    pub fn placed(&'static self, place: impl Into<String>) -> Limiter {
        Limiter {
            row: self,
            place: place.into(),
            hop: None,
        }
    }

    /// The limiter at the queue of this name.
    pub fn at_hop(&'static self, name: &str) -> Limiter {
        Limiter {
            hop: Some(name.to_owned()),
            ..self.placed(format!("at {name}"))
        }
    }
}

impl Limiter {
    /// The name in JSON and in tables.
    pub fn name(&self) -> &'static str {
        self.row.name
    }

    /// The name for people, without the place.
    pub fn title(&self) -> &'static str {
        self.row.title
    }

    /// True where the evidence names no limiter.
    pub fn is_unknown(&self) -> bool {
        self.row.questions.is_empty()
    }

    /// True where it is somewhere between the endpoints.
    pub fn is_on_the_path(&self) -> bool {
        self.place == ON_THE_PATH
    }

    /// True where it is the queue of this name.
    pub fn is_hop(&self, name: &str) -> bool {
        self.hop.as_deref() == Some(name)
    }

    fn key(&self) -> (&'static str, &str) {
        (self.row.name, &self.place)
    }
}

/// A limiter in a log.
#[derive(Serialize, Deserialize)]
pub(super) struct Placed {
    pub limiter: String,
    pub place: String,
}

impl From<Limiter> for Placed {
    fn from(limiter: Limiter) -> Placed {
        Placed {
            limiter: limiter.name().to_owned(),
            place: limiter.place,
        }
    }
}

impl PartialEq for Limiter {
    fn eq(&self, other: &Limiter) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Limiter {}

impl PartialOrd for Limiter {
    fn partial_cmp(&self, other: &Limiter) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Limiter {
    fn cmp(&self, other: &Limiter) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.row.title)?;
        if !self.place.is_empty() {
            write!(f, " {}", self.place)?;
        }
        Ok(())
    }
}

/// On which side of a bound a value must lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
}

/// One counter's evidence for or against a limiter.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// What was counted, in words.
    pub counter: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The bound that the value must keep.
    pub bound: Bound,
}

impl Evidence {
    /// How far the value is on the right side of the bound, as a share of the bound and at most 1;
    /// negative on the wrong side.
    pub fn margin(&self) -> f64 {
        let margin = match self.bound {
            Bound::AtLeast(bound) => (self.value - bound) / bound.abs().max(f64::MIN_POSITIVE),
            Bound::AtMost(bound) => (bound - self.value) / bound.abs().max(f64::MIN_POSITIVE),
        };
        margin.clamp(-1.0, 1.0)
    }
}

bitcost_model::words! {
    /// How sure a verdict is.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Confidence {
        /// The evidence barely suffices, or holds for another limiter too.
        Low = "low",
        /// The evidence suffices.
        Medium = "medium",
        /// The evidence is far from its bounds, and no other limiter comes near.
        High = "high",
        /// The throughput followed the limiter's resource when that was changed
        /// ([`crate::explain::Proof`]).
        Proved = "proved",
    }
}

impl Confidence {
    /// `high confidence`, or `proved by experiment`.
    pub fn words(self) -> String {
        match self {
            Confidence::Proved => "proved by experiment".to_owned(),
            other => format!("{} confidence", other.name()),
        }
    }
}

/// A limiter with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The limiter.
    pub limiter: Limiter,
    /// More about it, in words; may be empty.
    pub detail: String,
    /// All the evidence that must hold.
    pub evidence: Vec<Evidence>,
    /// What to change in this run; absent where it is the same in every run.
    pub remedy: Option<String>,
    /// What has the endpoint's CPU while its thread waits for it; absent where it does not wait.
    pub rival: Option<Rival>,
}

impl Candidate {
    /// How well all of the evidence holds: the worst margin.
    pub fn strength(&self) -> f64 {
        self.evidence
            .iter()
            .map(Evidence::margin)
            .min_by(f64::total_cmp)
            .unwrap_or(-1.0)
    }

    /// True where all of it holds.
    pub fn holds(&self) -> bool {
        self.strength() >= 0.0
    }
}

/// What limited a run, or a part of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The limiter with its evidence.
    pub chosen: Candidate,
    /// How sure the verdict is.
    pub confidence: Confidence,
    /// The next best limiter, with its evidence.
    pub runner_up: Option<Candidate>,
    /// The share of the run's time for which it was the limiter.
    pub share: f64,
    /// Whether only figures were known, as for runs of other programs.
    pub by_figures: bool,
    /// Other programs that took so much CPU time that they come first; absent where they did not.
    pub others: Option<Others>,
}

impl Verdict {
    /// What to change to relax the limiter.
    pub fn remedy(&self) -> &str {
        if let Some(remedy) = &self.chosen.remedy {
            return remedy;
        }
        match self.limiter() {
            limiter if limiter.is_unknown() && self.by_figures => {
                "these figures are not enough for a verdict; repeat the run with bitcost, and explain that run"
            }
            limiter => limiter.row.remedy,
        }
    }

    /// The limiter.
    pub fn limiter(&self) -> &Limiter {
        &self.chosen.limiter
    }
}
