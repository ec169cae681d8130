//! The ladder of what makes a test faster or cheaper: its steps, each with what limited it and the change that led to it,
//! and what was tried. The log has it as it was decided.

use bitcost_model::search::Goal;
use bitcost_stats::{Interval, LOOKED};
use serde::{Deserialize, Serialize};

use crate::explain::{Limiter, NotTried};
use crate::metrics::metric;

/// The most blocks of a round that drops the losers of many changes.
pub const SCREENING_BLOCKS: u32 = 2;

/// The most changes that go into the round that decides.
pub const FINALISTS: usize = 3;

/// The fewest blocks by which a change is kept, unless its gain is large, and the most that are made for it.
pub const BLOCKS_LEAST: u32 = 3;
/// See [`BLOCKS_LEAST`].
pub const BLOCKS_MOST: u32 = 12;

/// The least gain that is worth a change, as a ratio.
pub(super) const WORTH: f64 = 1.03;

/// Where the interval of a gain excludes less than this ratio, fewer blocks are enough: runs that do not differ vary less.
pub(super) const LARGE: f64 = 2.0;

/// A cheaper change has at least this share of the unchanged run's rate.
const SAME_RATE: f64 = 0.97;

/// The ladder of a test.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ladder {
    #[serde(rename = "for")]
    pub goal: Goal,
    /// The name of the metric that the rate is of.
    pub rate_metric: String,
    /// The steps; the first one has no change.
    #[serde(rename = "steps")]
    pub rungs: Vec<Rung>,
    /// Changes that were tried at the last step, and not kept.
    #[serde(rename = "not_kept")]
    pub without: Vec<NotKept>,
    /// Changes that were not tried, of all steps.
    #[serde(rename = "not_tried")]
    pub untried: Vec<NotTried>,
    /// What may change how it is read, a sentence each.
    pub caveats: Vec<String>,
    pub end: End,
}

bitcost_model::words! {
    /// How a ladder ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
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
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rung {
    /// What limits it; absent where it is not known.
    #[serde(flatten)]
    pub limiter: Option<Limiter>,
    /// What to change about that, in general.
    pub remedy: Option<String>,
    /// Whether experiments prove the limiter: less of its resource, or the change that relaxed it.
    pub is_proved: bool,
    /// The change that led to it; absent for the first step.
    pub change: Option<Kept>,
    pub rate: Option<Interval>,
    /// CPU time of both endpoints for each KiB or transaction, in µs.
    #[serde(rename = "cost_us")]
    pub cost: Option<f64>,
}

/// A change that was kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Kept {
    #[serde(flatten)]
    pub measured: Measured,
    /// How it is kept: the command, or what the program calls.
    pub keep: String,
    /// Whether a command as root keeps it.
    pub needs_root: bool,
    pub settings: Vec<(String, String)>,
}

/// A change that was tried and not kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NotKept {
    pub label: String,
    /// How much better the run was, as a ratio over 1; absent where it cannot be compared.
    #[serde(rename = "gain_ratio")]
    pub gain: Option<Interval>,
    /// Whether it may gain what a change is worth.
    pub is_open: bool,
}

impl NotKept {
    /// Whether a round with enough blocks had it.
    pub(super) fn is_bounded(&self) -> bool {
        self.gain.is_some_and(|gain| gain.low.is_some())
    }

    pub(super) fn of(one: &Measured, goal: Goal) -> NotKept {
        // Few blocks rank, and do not bound.
        let is_bounded = one.blocks > SCREENING_BLOCKS;
        let gain = one.gain(goal).map(|gain| match is_bounded {
            true => gain,
            false => Interval::alone(gain.value),
        });
        NotKept {
            label: one.label.clone(),
            gain,
            is_open: match is_bounded {
                true => !one.is_none(goal) && !one.is_gain(goal),
                false => one.is_worth(goal),
            },
        }
    }
}

/// What a change shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
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

impl Measured {
    /// How much better it is, as a ratio over 1.
    pub fn gain(&self, goal: Goal) -> Option<Interval> {
        match goal {
            Goal::Rate => Some(self.rate),
            Goal::Cost => self
                .cost
                .map(|cost| cost.map(f64::recip))
                .filter(|_| self.rate.value >= SAME_RATE),
        }
    }

    /// Whether it gains what a change is worth, with an interval that excludes no gain; of few blocks, one that is not
    /// large.
    pub fn is_gain(&self, goal: Goal) -> bool {
        let gain = self.gain(goal).filter(|gain| gain.value >= WORTH);
        let low = gain.and_then(|gain| gain.widened(LOOKED).low);
        let excluded = match self.blocks < BLOCKS_LEAST {
            true => LARGE,
            false => 1.0,
        };
        low.is_some_and(|low| low > excluded)
    }

    /// Whether the run was better with it.
    pub fn may_gain(&self, goal: Goal) -> bool {
        self.gain(goal).is_some_and(|gain| gain.value > 1.0)
    }

    /// Whether it was better by what a change is worth, whatever the interval.
    pub fn is_worth(&self, goal: Goal) -> bool {
        self.gain(goal).is_some_and(|gain| gain.value >= WORTH)
    }

    /// Whether its interval excludes a gain that a change is worth.
    pub fn is_none(&self, goal: Goal) -> bool {
        let high = self.gain(goal).map(|gain| gain.widened(LOOKED).high);
        high.is_none_or(|high| high.is_some_and(|high| high < WORTH))
    }
}

impl Ladder {
    /// The changes that were kept.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.rungs.iter().filter_map(|rung| rung.change.as_ref())
    }

    /// The unit of its rates.
    pub fn rate_unit(&self) -> &'static str {
        metric(&self.rate_metric).map_or("", |metric| metric.unit)
    }

    /// The unit of its costs.
    pub fn cost_unit(&self) -> &'static str {
        match self.rate_metric == "transactions_per_second" {
            true => "µs/transaction",
            false => "µs/KiB",
        }
    }
}
