//! The ladder of what makes a test faster or cheaper: its steps, each with what limits it and the change that led to it,
//! and what was tried. The log has it as it was decided.

use bitcost_model::Invalid;
use bitcost_model::conditions::Conditions;
use bitcost_model::plan::Plan;
use bitcost_model::search::{Changes, Goal};
use bitcost_model::settings::apply;
use bitcost_stats::Interval;
use serde::{Deserialize, Serialize};

use super::base::{Base, gain, rate_metric};
use super::change::Change;
use super::judge::FASTER;
use super::proving::{End, Proving};
use super::round::cost_of;
use crate::explain::{Decision, ExplainedCell, Limiter, NotTried, Tried};
use crate::metrics::metric;
use crate::summary::Summary;

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
    /// Changes that were not tried at the last step.
    #[serde(rename = "not_tried")]
    pub untried: Vec<NotTried>,
    pub end: End,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Rung {
    /// What limits it; absent where it is not known.
    #[serde(flatten)]
    pub limiter: Option<Limiter>,
    /// Whether the change that relaxed it proves the limiter.
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
    /// A ladder with the step that has no change, of which nothing is known yet.
    pub fn new(conditions: &Conditions, goal: Goal, cell: Option<usize>) -> Ladder {
        Ladder {
            cell,
            goal,
            rate_metric: rate_metric(conditions).map_or_else(String::new, |of| of.name.to_owned()),
            rungs: vec![Rung::default()],
            without: Vec::new(),
            untried: Vec::new(),
            end: End::Early,
        }
    }

    /// Takes what the test of the last step shows.
    pub fn tested(
        &mut self,
        (summary, explained): (&Summary, Option<&ExplainedCell>),
        base: &Base,
    ) {
        let Some((rung, cell)) = self.rungs.last_mut().zip(summary.cells.first()) else {
            return;
        };
        let verdict = explained.and_then(ExplainedCell::verdict);
        rung.limiter = verdict.map(|verdict| verdict.limiter().clone());
        // Of transactions at a requested rate it is how many would follow one another.
        let has_pauses = base.conditions.transaction_rate.is_some();
        let figure = cell.figure(&self.rate_metric).filter(|_| !has_pauses);
        rung.rate = Some(figure.unwrap_or_else(|| Interval::alone(base.rate)));
        rung.cost = cost_of(&base.conditions, |name| Some(cell.figure(name)?.value));
    }

    /// Takes what was tried at the last step.
    pub fn take(&mut self, proving: &Proving) {
        let proof = proving.proof();
        (self.without, self.untried) = (proof.tried, proof.untried);
        self.end = proving.end();
    }

    /// Keeps a change, which leads to the next step.
    pub fn keep(&mut self, change: &Change, tried: Tried) {
        self.without.retain(|one| one.label != tried.label);
        if let Some(rung) = self.rungs.last_mut() {
            let is_of = |limiter: &Limiter| !change.is_of_flows() && change.row.is_of(limiter);
            rung.is_proved = tried.rate.value >= FASTER && rung.limiter.as_ref().is_some_and(is_of);
        }
        self.rungs.push(Rung {
            change: Some(Kept {
                keep: change.how.kept(),
                needs_root: change.how.place.is_some(),
                settings: change.how.settings.clone(),
                tried: Tried {
                    limits: Decision::Limits,
                    ..tried
                },
            }),
            ..Rung::default()
        });
    }

    /// How much better a change is, as a ratio over 1; absent where the rate is not kept.
    pub fn gain(&self, tried: &Tried) -> Option<Interval> {
        gain(self.goal, self.cell.is_some(), tried)
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
