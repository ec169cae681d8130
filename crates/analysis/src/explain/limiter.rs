//! The types of a verdict: a limiter, the evidence for it, how strong that is, and what comes next.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

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
    /// The evidence that must hold, in the words of docs/method/bottleneck.md.
    pub evidence: &'static str,
    /// Adds what the facts of a run say for it: the ways in which it may show, each with all its evidence.
    pub suspects: fn(&Signals, &mut Vec<Candidate>),
}

/// The place of what limits between the endpoints, where no counter is known.
pub const ON_THE_PATH: &str = "on the path";

/// The one limit that, if it were relaxed, would let the flow go faster, and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(into = "Placed")]
pub struct Limiter {
    name: &'static str,
    place: String,
    title: &'static str,
    remedy: &'static str,
}

/// A limiter in JSON.
#[derive(Serialize, JsonSchema)]
struct Named {
    /// The limiter's name, as in docs/reference/limiters.md.
    limiter: &'static str,
    /// The limiter in words, with its place.
    words: String,
}

fn named<S: Serializer>(of: &Limiter, to: S) -> Result<S::Ok, S::Error> {
    let (limiter, words) = (of.name(), of.to_string());
    Named { limiter, words }.serialize(to)
}

impl LimiterRow {
    /// The limiter, where its title says everything.
    pub fn limiter(&'static self) -> Limiter {
        self.placed("")
    }

    /// The limiter at a place, which follows the title: `at h1-eth0`, `of the sender`.
    pub fn placed(&'static self, place: impl Into<String>) -> Limiter {
        Limiter {
            name: self.name,
            place: place.into(),
            title: self.title,
            remedy: self.remedy,
        }
    }

    /// The limiter with its evidence; `strength` is what that says where all of it holds.
    pub(super) fn suspect(&'static self, strength: f64, evidence: Vec<Evidence>) -> Candidate {
        Candidate {
            strength,
            ..Candidate::named(self.limiter(), evidence)
        }
    }

    /// The same with one piece of evidence.
    pub(super) fn shown(&'static self, strength: f64, evidence: Evidence) -> Candidate {
        self.suspect(strength, vec![evidence])
    }
}

impl Limiter {
    /// The name in JSON and in tables.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The name for people, without the place.
    pub fn title(&self) -> &'static str {
        self.title
    }

    /// True where the evidence names no limiter.
    pub fn is_unknown(&self) -> bool {
        self.name == "unknown"
    }

    /// True where it is somewhere between the endpoints.
    pub fn is_on_the_path(&self) -> bool {
        self.place == ON_THE_PATH
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

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)?;
        if !self.place.is_empty() {
            write!(f, " {}", self.place)?;
        }
        Ok(())
    }
}

/// On which side of a bound a value must lie.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// The bound from which on it is evidence.
    AtLeast(f64),
    /// The bound up to which it is evidence.
    AtMost(f64),
}

/// One counter's evidence for or against a limiter.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    /// What was counted, in words.
    pub counter: String,
    /// Its value.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// The bound that the value must keep.
    #[serde(flatten)]
    pub bound: Bound,
}

impl Evidence {
    /// How far the value is on the right side of the bound, as a share of the bound and at most 1;
    /// negative on the wrong side.
    pub fn margin(&self) -> f64 {
        let (bound, beyond) = match self.bound {
            Bound::AtLeast(bound) => (bound, self.value - bound),
            Bound::AtMost(bound) => (bound, bound - self.value),
        };
        (beyond / bound.abs().max(f64::MIN_POSITIVE)).clamp(-1.0, 1.0)
    }
}

bitcost_model::words! {
    /// How sure a verdict is, in the words for people; JSON has `proved` for the last.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Confidence {
        /// No limiter has all its evidence.
        Unknown = "unknown",
        /// The counters name the limiter.
        Likely = "likely",
        /// The throughput followed the limiter's resource when that was changed
        /// ([`crate::explain::Proof`]).
        Proved = "proved by experiment",
    }
}

/// From this strength, all evidence holds.
const HOLDS: f64 = 0.5;

/// A limiter with its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// The limiter.
    #[serde(flatten, serialize_with = "named")]
    #[schemars(with = "Named")]
    pub limiter: Limiter,
    /// More about it, in words; may be empty.
    pub detail: String,
    /// All the evidence that must hold.
    pub evidence: Vec<Evidence>,
    /// How much the evidence says where all of it holds, from 0.5 to 1.
    #[serde(skip)]
    pub(crate) strength: f64,
    /// Whether it is a reason for a rate that changes.
    #[serde(skip)]
    pub(crate) explains_change: bool,
    /// What to change in this run; absent where it is the same in every run.
    #[serde(skip)]
    pub remedy: Option<String>,
}

impl Candidate {
    /// A limiter that this evidence names for certain.
    pub fn named(limiter: Limiter, evidence: Vec<Evidence>) -> Candidate {
        Candidate {
            limiter,
            detail: String::new(),
            evidence,
            strength: 1.0,
            explains_change: true,
            remedy: None,
        }
    }

    pub(super) fn at(self, place: impl Into<String>) -> Candidate {
        let place = place.into();
        let limiter = Limiter {
            place,
            ..self.limiter
        };
        Candidate { limiter, ..self }
    }

    pub(super) fn with_detail(self, detail: impl Into<String>) -> Candidate {
        let detail = detail.into();
        Candidate { detail, ..self }
    }

    pub(super) fn with_remedy(self, remedy: &str) -> Candidate {
        let remedy = Some(remedy.to_owned());
        Candidate { remedy, ..self }
    }

    /// The same where it holds a rate, and explains none that changes.
    pub(super) fn of_steady(self) -> Candidate {
        Candidate {
            explains_change: false,
            ..self
        }
    }

    pub fn weakest(&self) -> Option<&Evidence> {
        let all = self.evidence.iter();
        all.min_by(|a, b| a.margin().total_cmp(&b.margin()))
    }

    /// How much speaks for it, from 0 to 1: where all evidence holds from 0.5 on, what such evidence says; otherwise the
    /// less, the farther the weakest evidence is from its bound.
    pub fn strength(&self) -> f64 {
        match self.weakest().map_or(0.0, Evidence::margin) {
            margin if margin >= 0.0 => self.strength,
            margin => HOLDS * (1.0 + margin),
        }
    }

    /// True where all of its evidence holds.
    pub fn holds(&self) -> bool {
        self.strength() >= HOLDS
    }
}

/// What limited a run, or runs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// The limiter with its evidence.
    #[serde(flatten)]
    pub chosen: Candidate,
    /// How sure the verdict is.
    pub confidence: Confidence,
    /// The share of the runs of which it is the limiter, from 0 to 1.
    pub share: f64,
    /// The limiters that come next, those with the strongest evidence first.
    pub suspects: Vec<Candidate>,
}

impl Verdict {
    /// What to change to relax the limiter.
    pub fn remedy(&self) -> &str {
        let own = self.chosen.remedy.as_deref();
        own.unwrap_or(self.limiter().remedy)
    }

    pub fn limiter(&self) -> &Limiter {
        &self.chosen.limiter
    }
}
