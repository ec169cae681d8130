//! What experiments say of a verdict: what happened to the throughput with one change after the other. The log has it as
//! it was decided.

use bitcost_model::record::Role;
use bitcost_stats::Interval;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::explain::limiter::Limiter;

bitcost_model::words! {
    /// What a change shows of its resource.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Decision {
        /// The throughput follows it.
        Limits = "limits",
        /// The throughput does not follow it.
        DoesNot = "does not limit",
        /// The interval is too wide to tell.
        Open = "open",
    }
}

/// A change that was tried, in runs that are interleaved with unchanged ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tried {
    pub label: String,
    /// What was changed, in words: `20 % less CPU time for the receiver`.
    pub changed: String,
    /// Rate with it ÷ rate without it.
    #[serde(rename = "rate_ratio")]
    pub rate: Interval,
    /// CPU time of both endpoints with it ÷ without it; absent where it is not known.
    #[serde(rename = "cost_ratio")]
    pub cost: Option<Interval>,
    /// Mean latency of background transactions with it ÷ without it; absent without such.
    #[serde(rename = "background_latency_ratio")]
    pub background: Option<Interval>,
    /// Relative change of the rate ÷ relative change of the resource; absent where a
    /// change relaxes.
    pub elasticity: Option<Interval>,
    /// Whether its resource limits: less of it is slower, or the change gains.
    pub limits: Decision,
    /// Blocks in which both were measured.
    pub blocks: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotTried {
    /// The change, or the resource that it is of.
    pub label: String,
    pub reason: String,
    /// The command that makes it, as root.
    pub command: Option<String>,
}

impl NotTried {
    /// A change that no command makes.
    pub fn new(label: impl Into<String>, reason: impl Into<String>) -> NotTried {
        NotTried {
            label: label.into(),
            reason: reason.into(),
            command: None,
        }
    }
}

/// What to do about what limits.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// What to change, in words.
    pub words: String,
    /// The options that do it in this test, in addition to its own or in their place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<String>,
    /// The option of this test to leave away.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removes: Option<String>,
    /// The command that does it, as root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The host of the command, as its settings are addressed; absent where it is for both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<Role>,
    /// Rate with it ÷ rate without it; absent where it was not tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gain: Option<Interval>,
}

/// What all changes together show of the verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", content = "because", rename_all = "snake_case")]
pub enum Outcome {
    /// The throughput follows the resource of the limiter that was named.
    Proved,
    /// It does not, and it follows that of this one.
    Refuted(Limiter),
    /// No limiter was named, and the throughput follows the resource of this one.
    Found(Limiter),
    /// The limiter that is left where nothing that was changed had an effect; with what was tried.
    Likely(Limiter, String),
    /// Nothing is proved, for this reason.
    Undecided(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The limiter that the counters named; absent where they named none.
    pub named: Option<Limiter>,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What limits the test with the change that made it fastest, by its counters; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<Limiter>,
    /// Every change with runs: those that limit first.
    pub tried: Vec<Tried>,
    #[serde(rename = "not_tried")]
    pub untried: Vec<NotTried>,
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
