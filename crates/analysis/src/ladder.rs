//! The ladder of what makes a test faster or cheaper: its steps, and what was tried.

use bitcost_model::search::Goal;
use bitcost_stats::Interval;

use crate::explain::Limiter;
use serde::Serialize;

/// The ladder of a test.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// What was looked for.
    pub goal: Goal,
    /// The name of the metric that the rate is of, and its unit.
    pub rate_of: (&'static str, &'static str),
    /// The unit of the cost.
    pub cost_unit: &'static str,
    /// The steps; the first one has no change.
    pub rungs: Vec<Rung>,
    /// Changes that were tried at the last step, and not kept.
    pub without: Vec<Tried>,
    /// Changes that were not tried, of all steps.
    pub untried: Vec<NotTried>,
    /// How it ended.
    pub end: End,
    /// What may change how it is read, a sentence each.
    pub caveats: Vec<String>,
    /// The labels of all changes that were tried.
    pub(crate) seen: Vec<String>,
}

bitcost_model::words! {
    /// How a ladder ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum End {
        /// Everything that can be tried was tried, and nothing gains.
        Complete = "complete",
        /// A change may gain, and the blocks do not decide it.
        Undecided = "undecided",
        /// The budget ended, or the user stopped it, before everything was tried.
        Early = "early",
    }
}

/// A step.
#[derive(Clone, Debug)]
pub struct Rung {
    /// What limits it; absent where it is not known.
    pub limiter: Option<Limiter>,
    /// What to change about that, in general.
    pub remedy: Option<String>,
    /// Whether experiments prove the limiter: perturbations, or the change that relaxed it.
    pub is_proved: bool,
    /// The change that led to it; absent for the first step.
    pub change: Option<Kept>,
    /// Its rate.
    pub rate: Option<Interval>,
    /// CPU time of both endpoints for each KiB or transaction, in µs.
    pub cost: Option<f64>,
}

/// A change that was kept.
#[derive(Clone, Debug, Serialize)]
pub struct Kept {
    /// What was measured of it.
    #[serde(flatten)]
    pub measured: Measured,
    /// How it is kept: the command, or what the program calls.
    pub keep: String,
    /// Whether a command as root keeps it.
    pub needs_root: bool,
    /// Its settings.
    pub settings: Vec<(&'static str, String)>,
}

/// A change that was tried and not kept.
#[derive(Clone, Debug, Serialize)]
pub struct Tried {
    /// The change.
    pub label: String,
    /// How much better the run was, as a ratio over 1; absent where it cannot be compared.
    #[serde(rename = "gain_ratio")]
    pub gain: Option<Interval>,
    /// Whether it may gain what a change is worth.
    pub is_open: bool,
}

impl Ladder {
    /// The changes that were kept.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.rungs.iter().filter_map(|rung| rung.change.as_ref())
    }
}

/// A change that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measured {
    /// Its label.
    pub label: String,
    /// Rate with it ÷ rate without it.
    #[serde(rename = "rate_ratio")]
    pub rate: Interval,
    /// CPU time of both endpoints with it ÷ without it; absent where it is not known.
    #[serde(rename = "cost_ratio")]
    pub cost: Option<Interval>,
    /// Mean latency of background transactions with it ÷ without it; absent without such.
    #[serde(rename = "background_latency_ratio")]
    pub background: Option<Interval>,
    /// Blocks in which both were measured.
    pub blocks: u32,
}

/// A change that was not tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NotTried {
    /// The change.
    #[serde(rename = "label")]
    pub what: String,
    /// Why.
    pub reason: String,
    /// The command that makes it, as root.
    pub command: Option<String>,
}
