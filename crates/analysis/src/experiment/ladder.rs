//! The ladder of what makes a test faster or cheaper: its steps, each with what limited it and the change that led to it,
//! and what was tried. The log has it as it was decided.

use bitcost_model::Invalid;
use bitcost_model::plan::Plan;
use bitcost_model::search::{Changes, Goal};
use bitcost_model::settings::apply;
use bitcost_stats::Interval;
use serde::{Deserialize, Serialize};

use crate::explain::{Limiter, NotTried, Tried};
use crate::metrics::metric;

/// The most blocks of a round that drops the losers of many changes.
pub const SCREENING_BLOCKS: u32 = 2;

/// The most changes that go into the round that decides.
pub const FINALISTS: usize = 3;

/// The fewest blocks by which a change is kept, unless its gain is large, and the most that are made for it.
pub const BLOCKS_LEAST: u32 = 3;
/// See [`BLOCKS_LEAST`].
pub const BLOCKS_MOST: u32 = 12;

/// A cheaper change has at least this share of the unchanged run's rate.
const SAME_RATE: f64 = 0.97;

/// What changes are tried for.
#[derive(Clone, Copy, Debug)]
pub struct Aim {
    pub goal: Goal,
    /// Whether it is a search, which chooses by few short runs what costs nothing, at any rate.
    pub is_search: bool,
}

impl Aim {
    /// How much better a change is, as a ratio over 1; absent where the rate is not kept.
    pub(super) fn gain(self, tried: &Tried) -> Option<Interval> {
        let keeps_rate = self.is_search || tried.rate.value >= SAME_RATE;
        match self.goal {
            Goal::Rate => Some(tried.rate),
            Goal::Cost => tried
                .cost
                .filter(|_| keeps_rate)
                .map(|of| of.map(f64::recip)),
        }
    }

    /// The same without its interval; 0 where it cannot be compared.
    pub(super) fn value(self, tried: &Tried) -> f64 {
        self.gain(tried).map_or(0.0, |gain| gain.value)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ladder {
    /// The cell whose options were searched (`mode = "auto"`), by its place in the plan; absent where the bottleneck of a
    /// test was relaxed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    #[serde(rename = "for")]
    pub goal: Goal,
    /// The name of the metric that the rate is of.
    pub rate_metric: String,
    /// The steps; the first one has no change.
    #[serde(rename = "steps")]
    pub rungs: Vec<Rung>,
    /// Changes that were tried at the last step, and not kept.
    #[serde(rename = "not_kept")]
    pub without: Vec<Tried>,
    /// Changes that were not tried, of all steps.
    #[serde(rename = "not_tried")]
    pub untried: Vec<NotTried>,
    /// What may change how it is read, a sentence each.
    pub caveats: Vec<String>,
    pub end: End,
    /// The labels of what the present step has to try.
    #[serde(skip)]
    pub(super) offered: Vec<String>,
    /// The labels of all changes that were tried.
    #[serde(skip)]
    pub(super) seen: Vec<String>,
}

bitcost_model::words! {
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

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rung {
    /// What limits it; absent where it is not known.
    #[serde(flatten)]
    pub limiter: Option<Limiter>,
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
    pub tried: Tried,
    /// How it is kept: the command, or what the program calls.
    pub keep: String,
    /// Whether a command as root keeps it.
    pub needs_root: bool,
    pub settings: Changes,
}

impl Ladder {
    pub fn aim(&self) -> Aim {
        Aim {
            goal: self.goal,
            is_search: self.cell.is_some(),
        }
    }

    /// How much better a change is, as a ratio over 1, without an interval where blocks are too few to bound it; absent
    /// where the rate is not kept.
    pub fn gain(&self, tried: &Tried) -> Option<Interval> {
        let gain = self.aim().gain(tried)?;
        Some(match is_bounded(tried) {
            true => gain,
            false => Interval::alone(gain.value),
        })
    }

    /// The changes that were kept.
    pub fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.rungs.iter().filter_map(|rung| rung.change.as_ref())
    }

    /// Gives the cell of a plan whose options were searched what was kept.
    ///
    /// # Errors
    /// Where a setting is not known.
    pub fn settle(&self, plan: &mut Plan) -> Result<(), Invalid> {
        let Some(cell) = self.cell.and_then(|cell| plan.cells.get_mut(cell)) else {
            return Ok(());
        };
        let mut kept = self.kept();
        kept.try_for_each(|kept| apply(&kept.settings, &mut cell.conditions))
    }

    pub fn rate_unit(&self) -> &'static str {
        metric(&self.rate_metric).map_or("", |metric| metric.unit)
    }

    pub fn cost_unit(&self) -> &'static str {
        match self.rate_metric == "transactions_per_second" {
            true => "µs/transaction",
            false => "µs/KiB",
        }
    }
}

/// Whether a round with enough blocks had a change.
pub(super) fn is_bounded(tried: &Tried) -> bool {
    tried.blocks > SCREENING_BLOCKS
}
