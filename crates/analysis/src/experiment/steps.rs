//! The steps of a ladder, while they are made.

use bitcost_model::conditions::Conditions;
use bitcost_model::search::Goal;
use bitcost_stats::Interval;

use super::base::rate_metric;
use super::change::Change;
use super::choose::Offers;
use super::ladder::{BLOCKS_LEAST, End, Kept, Ladder, Rung, is_bounded};
use super::round::{Round, UNCHANGED, cost_of, winner};
use crate::explain::{Decision, ExplainedCell, NotTried, Proof, Tried};
use crate::findings::Findings;

/// The greatest change of the rate of a step between two rounds, as a ratio, that is no drift.
const DRIFT: f64 = 1.15;

impl Ladder {
    /// A ladder without steps.
    pub fn new(conditions: &Conditions, goal: Goal, cell: Option<usize>) -> Ladder {
        Ladder {
            cell,
            goal,
            rate_metric: rate_metric(conditions).map_or_else(String::new, |of| of.name.to_owned()),
            rungs: Vec::new(),
            without: Vec::new(),
            untried: Vec::new(),
            caveats: Vec::new(),
            end: End::Early,
            offered: Vec::new(),
            seen: Vec::new(),
        }
    }

    /// Begins a step, of which this is the test.
    pub fn step(&mut self, test: &Findings) {
        if self.rungs.is_empty() {
            let summary = &test.summary;
            let figures = summary.planned.first().zip(summary.cells.first());
            self.rungs.extend(figures.map(|(planned, cell)| Rung {
                rate: rate_metric(&planned.conditions).and_then(|of| cell.figure(of.name)),
                cost: cost_of(&planned.conditions, |name| Some(cell.figure(name)?.value)),
                ..Rung::default()
            }));
        }
        self.take_whole_test(test);
        let cell = test.explanation.cells.first();
        let verdict = cell.and_then(ExplainedCell::verdict);
        let named = verdict.as_ref().map(|verdict| verdict.limiter());
        if let Some(rung) = self.rungs.last_mut() {
            let proof = cell.and_then(|cell| cell.proof.as_ref());
            let proved = proof.and_then(Proof::limiter);
            rung.limiter = proved.or(named).cloned();
            rung.is_proved = proved.is_some();
        }
        self.offered.clear();
        self.without.clear();
    }

    /// Takes the rate of a step from its whole test, where the short runs had another one.
    fn take_whole_test(&mut self, test: &Findings) {
        let step = self.rungs.len().saturating_sub(1);
        let cell = test.summary.cells.first();
        let rate = cell.and_then(|cell| cell.figure(&self.rate_metric));
        let rung = self.rungs.last_mut().filter(|rung| rung.change.is_some());
        let Some((rung, rate)) = rung.zip(rate) else {
            return;
        };
        let ratio = rung.rate.map_or(1.0, |short| short.value / rate.value);
        if !(1.0 / DRIFT..=DRIFT).contains(&ratio) && self.goal == Goal::Rate {
            rung.rate = Some(rate);
            self.caveats.push(format!(
                "the rate of step {step} is that of its whole test; short runs made {ratio:.1} times as much"
            ));
        }
    }

    /// Takes what the present step has to try.
    pub fn offer(&mut self, offers: &Offers) {
        let changes = offers.changes.iter();
        self.offered
            .extend(changes.map(|one| one.how.label.clone()));
        self.add_untried(offers.untried.clone());
    }

    /// Takes what a round of the present step shows, and returns what was tried in it.
    pub fn take(&mut self, round: &Round) -> Vec<Tried> {
        self.compare(round.figures(UNCHANGED));
        let (found, failed) = round.tried(self.aim());
        if found.iter().any(|one| one.blocks >= BLOCKS_LEAST) {
            // This round decides what the ones before it left open.
            let known = self.without.iter_mut().filter(|known| !is_bounded(known));
            known.for_each(|known| known.limits = Decision::DoesNot);
        }
        for one in &found {
            self.without.retain(|known| known.label != one.label);
            self.seen.push(one.label.clone());
            self.without.push(one.clone());
        }
        let failed = failed.into_iter();
        let failed: Vec<NotTried> = failed
            .filter(|(change, _)| !self.seen.contains(&change.how.label))
            .map(|(change, reason)| change.how.untried(reason))
            .collect();
        self.add_untried(failed);
        found
    }

    /// Takes the figures of the present step in a new round: those of a step without a change, else a caveat where they
    /// are no longer what they were.
    fn compare(&mut self, (now, cost): (Option<Interval>, Option<f64>)) {
        let step = self.rungs.len().saturating_sub(1);
        let (Some(now), Some(rung)) = (now, self.rungs.last_mut()) else {
            return;
        };
        if rung.change.is_none() {
            (rung.rate, rung.cost) = (Some(now), cost);
            return;
        }
        let ratio = rung.rate.map_or(1.0, |rate| now.value / rate.value);
        let about = format!("the rate of step {step} changed from one round to the next by");
        let mut known = self.caveats.iter();
        if !known.any(|known| known.starts_with(&about)) && !(1.0 / DRIFT..=DRIFT).contains(&ratio)
        {
            self.caveats.push(format!(
                "{about} {:+.0} %: something else changes meanwhile",
                100.0 * (ratio - 1.0)
            ));
        }
    }

    /// Keeps the change of a round that wins by what was tried in it, which leads to the next step.
    pub fn keep(&mut self, round: &Round, found: &[Tried]) -> Option<Change> {
        let tried = winner(found, self.aim())?;
        let mut changes = round.changes.iter();
        let place = changes.position(|one| one.how.label == tried.label)?;
        let change = &round.changes[place];
        if let Some(rung) = self.rungs.last_mut() {
            rung.is_proved |= rung.limiter.as_ref().is_some_and(|of| change.row.is_of(of));
        }
        self.without.retain(|one| one.label != tried.label);
        let (rate, cost) = round.figures(place + 1);
        let kept = Kept {
            keep: change.how.kept(),
            needs_root: change.how.place.is_some(),
            settings: change.how.settings.clone(),
            tried: tried.clone(),
        };
        self.rungs.push(Rung {
            change: Some(kept),
            rate,
            cost,
            ..Rung::default()
        });
        Some(change.clone())
    }

    /// Ends it; `is_complete` where everything was tried at the last step.
    pub fn end(mut self, is_complete: bool) -> Ladder {
        let mut rungs = self.rungs.iter();
        if self.cell.is_none() && rungs.any(|of| of.change.is_some() && of.limiter.is_none()) {
            // It ended before the bottleneck after the last change was looked for.
            return self;
        }
        let offered = self.offered.iter();
        let missing: Vec<NotTried> = offered
            .filter(|label| !self.seen.contains(label))
            .filter(|label| self.untried.iter().all(|one| one.label != **label))
            .map(|label| NotTried::new(&**label, "no time was left for it"))
            .collect();
        let mut without = self.without.iter();
        self.end = match is_complete && missing.is_empty() {
            false => End::Early,
            true if without.any(|one| one.limits == Decision::Open) => End::Undecided,
            true => End::Complete,
        };
        self.add_untried(missing);
        self
    }

    fn add_untried(&mut self, more: Vec<NotTried>) {
        for one in more {
            if self.untried.iter().all(|known| known.label != one.label) {
                self.untried.push(one);
            }
        }
    }
}
