//! What experiments say of a verdict: what happened to the throughput when a little of one resource
//! after the other was taken away.

use std::time::Duration;

use bitcost_stats::Interval;

use crate::explain::limiter::Limiter;
use serde::Serialize;

bitcost_model::words! {
    /// What a perturbation shows of its resource.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Decision {
        /// The throughput follows it.
        Limits = "limits",
        /// The throughput does not follow it.
        DoesNot = "does not limit",
        /// The interval is too wide to tell.
        Open = "open",
    }
}

/// A perturbation that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Its name.
    pub name: &'static str,
    /// What was changed, in words: `20 % less CPU time for the receiver`.
    pub changed: String,
    /// Throughput with it ÷ throughput without it.
    pub ratio: Interval,
    /// Relative change of throughput ÷ relative change of the resource; absent where the resource
    /// has no size, as wake-ups.
    pub elasticity: Option<Interval>,
    /// What that shows.
    pub decision: Decision,
    /// Blocks in which both were measured.
    pub blocks: usize,
    /// The time that would decide it, from now on; absent where it is decided, or no time would.
    pub more: Option<Duration>,
}

/// A resource that was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Untried {
    /// The name of its perturbation.
    #[serde(rename = "perturbation")]
    pub name: &'static str,
    /// The resource, in words.
    pub resource: &'static str,
    /// The reason.
    pub reason: String,
}

/// What all perturbations together show of the verdict.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The throughput follows the resource of the limiter that was named.
    Proved,
    /// It does not, and it follows that of this one.
    Refuted(Limiter),
    /// No limiter was named, and the throughput follows the resource of this one.
    Found(Limiter),
    /// No limiter was named, and the throughput follows the resource of this one most, by an interval that does not tell
    /// whether it limits; with the name of its perturbation.
    Likely(Limiter, &'static str),
    /// Nothing is proved, for this reason.
    Undecided(String),
}

impl Outcome {
    /// The word for it in JSON.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Proved => "proved",
            Outcome::Refuted(_) => "refuted",
            Outcome::Found(_) => "found",
            Outcome::Likely(..) => "likely",
            Outcome::Undecided(_) => "undecided",
        }
    }
}

/// The experiments on a verdict.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The limiter that the counters named; absent where they named none.
    pub named: Option<Limiter>,
    /// Whether the unchanged runs are a base for it.
    pub is_sound: bool,
    /// What they show together.
    pub outcome: Outcome,
    /// Every perturbation with runs: those that limit first.
    pub tried: Vec<Tried>,
    /// The resources that were not tried.
    pub untried: Vec<Untried>,
    /// The blocks that were made.
    pub blocks: u32,
}

impl Proof {
    /// The limiter that was proved or found.
    pub fn limiter(&self) -> Option<&Limiter> {
        match &self.outcome {
            Outcome::Proved => self.named.as_ref(),
            Outcome::Refuted(found) | Outcome::Found(found) => Some(found),
            Outcome::Likely(..) | Outcome::Undecided(_) => None,
        }
    }
}
