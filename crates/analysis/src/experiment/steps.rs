//! The steps of a ladder, while they are made.

use bitcost_model::search::Goal;
use bitcost_stats::Interval;

use super::base::{proved, rate_metric};
use super::change::Change;
use super::choose::Offers;
use super::ladder::{BLOCKS_LEAST, End, Kept, Ladder, Rung, SCREENING_BLOCKS};
use super::round::{Round, UNCHANGED, cost_of};
use crate::explain::{
    Decision, ExplainedCell, Limiter, NotTried, RECEIVE_BUFFER, SEND_BUFFER, Tried, UNKNOWN,
};
use crate::findings::Findings;

/// The greatest change of the rate of a step between two rounds, as a ratio, that is no drift.
const DRIFT: f64 = 1.15;

/// Limiters of which more of the same always shows whether they limit.
const BUFFERS: [&str; 2] = [RECEIVE_BUFFER.name, SEND_BUFFER.name];

/// A rate, and a CPU time.
type Figures = (Option<Interval>, Option<f64>);

#[derive(Debug)]
pub struct Steps {
    ladder: Ladder,
    offered: Vec<Change>,
    /// The labels of all changes that were tried.
    seen: Vec<String>,
    /// The change that leads to the next step, and the figures of that.
    pending: Option<(Kept, Figures)>,
}

impl Steps {
    /// A ladder without steps; absent where the first test has no result.
    pub fn new(first: &Findings, goal: Goal) -> Option<Steps> {
        let conditions = &first.summary.planned.first()?.conditions;
        let ladder = Ladder {
            goal,
            rate_metric: rate_metric(conditions)?.name.to_owned(),
            rungs: Vec::new(),
            without: Vec::new(),
            untried: Vec::new(),
            caveats: Vec::new(),
            end: End::Early,
        };
        Some(Steps {
            ladder,
            offered: Vec::new(),
            seen: Vec::new(),
            pending: None,
        })
    }

    /// Begins a step, of which this is the test.
    pub fn step(&mut self, test: &Findings) {
        let (change, figures) = self.pending.take().unzip();
        let (rate, cost) = figures.unwrap_or_else(|| figures_of(test));
        let cell = test.explanation.cells.first();
        let verdict = cell.and_then(ExplainedCell::verdict);
        let named = verdict.as_ref().map(|verdict| verdict.limiter().clone());
        self.ladder.rungs.push(Rung {
            limiter: proved(test).cloned().or(named),
            remedy: verdict
                .filter(|verdict| !verdict.limiter().is_unknown())
                .map(|verdict| verdict.remedy().to_owned()),
            is_proved: proved(test).is_some(),
            change,
            rate,
            cost,
        });
        self.offered.clear();
        self.ladder.without.clear();
    }

    /// Takes what the present step has to try.
    pub fn offer(&mut self, offers: &Offers) {
        self.offered.extend(offers.changes.iter().cloned());
        self.add_untried(offers.untried.clone());
    }

    /// Takes what a round of the present step shows, and returns what was tried in it.
    pub fn take(&mut self, round: &Round) -> Vec<Tried> {
        self.compare(round.figures(UNCHANGED));
        let (found, failed) = round.tried(self.ladder.goal);
        if found.iter().any(|one| one.blocks >= BLOCKS_LEAST) {
            // This round decides what the ones before it left open.
            let known = self
                .ladder
                .without
                .iter_mut()
                .filter(|known| !is_bounded(known));
            known.for_each(|known| known.limits = Decision::DoesNot);
        }
        for one in &found {
            self.ladder.without.retain(|known| known.label != one.label);
            self.seen.push(one.label.clone());
            self.ladder.without.push(one.clone());
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
    fn compare(&mut self, (now, cost): Figures) {
        let step = self.ladder.rungs.len() - 1;
        let (Some(now), Some(rung)) = (now, self.ladder.rungs.last_mut()) else {
            return;
        };
        if rung.change.is_none() {
            (rung.rate, rung.cost) = (Some(now), cost);
            return;
        }
        let ratio = rung.rate.map_or(1.0, |rate| now.value / rate.value);
        let about = format!("the rate of step {step} changed from one round to the next by");
        let is_new = !self
            .ladder
            .caveats
            .iter()
            .any(|known| known.starts_with(&about));
        if is_new && !(1.0 / DRIFT..=DRIFT).contains(&ratio) {
            self.ladder.caveats.push(format!(
                "{about} {:+.0} %: something else changes meanwhile",
                100.0 * (ratio - 1.0)
            ));
        }
    }

    /// Keeps a change of a round, which leads to the next step.
    pub fn keep(&mut self, change: &Change, tried: Tried, round: &Round) {
        if let Some(rung) = self.ladder.rungs.last_mut() {
            rung.is_proved |= rung.limiter.as_ref().is_some_and(|of| change.row.is_of(of));
        }
        self.ladder.without.retain(|one| one.label != tried.label);
        let mut changes = round.changes.iter();
        let place = changes.position(|one| one.how.label == tried.label);
        let figures = round.figures(place.map_or(UNCHANGED, |place| place + 1));
        let settings = change.how.settings.iter();
        let kept = Kept {
            keep: change.how.keep.clone(),
            needs_root: change.how.needs_root,
            settings: settings
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            tried,
        };
        self.pending = Some((kept, figures));
    }

    /// Ends it; `is_complete` where everything was tried at the last step.
    pub fn end(mut self, is_complete: bool) -> Ladder {
        if let Some((change, (rate, cost))) = self.pending.take() {
            // It ended before the bottleneck after this change was looked for.
            self.ladder.rungs.push(Rung {
                limiter: None,
                remedy: None,
                is_proved: false,
                change: Some(change),
                rate,
                cost,
            });
            return self.ladder;
        }
        let offered = self.offered.iter().map(|one| &one.how.label);
        let missing: Vec<NotTried> = offered
            .filter(|label| !self.seen.contains(label))
            .filter(|label| self.ladder.untried.iter().all(|one| one.label != **label))
            .map(|label| NotTried::new(&**label, "no time was left for it"))
            .collect();
        self.ladder.end = match is_complete && missing.is_empty() {
            false => End::Early,
            true if self
                .ladder
                .without
                .iter()
                .any(|one| one.limits == Decision::Open) =>
            {
                End::Undecided
            }
            true => End::Complete,
        };
        self.add_untried(missing);
        self.contradict();
        self.ladder
    }

    /// Names no buffer as the limiter of the last step where more of it is shown to gain nothing.
    fn contradict(&mut self) {
        let step = self.ladder.rungs.len().saturating_sub(1);
        let Some(rung) = self.ladder.rungs.last_mut().filter(|rung| !rung.is_proved) else {
            return;
        };
        let is_buffer = |one: &&Limiter| BUFFERS.contains(&one.name());
        let Some(named) = rung.limiter.as_ref().filter(is_buffer) else {
            return;
        };
        let relaxes = |one: &&Tried| {
            let mut same = self.offered.iter().filter(|of| of.how.label == one.label);
            same.any(|of| of.row.is_of(named))
        };
        let mut without = self
            .ladder
            .without
            .iter()
            .filter(|one| is_bounded(one) && one.limits != Decision::Open);
        if let Some(one) = without.find(relaxes) {
            self.ladder.caveats.push(format!(
                "the counters of step {step} name the {named}, and {} gains nothing: something else limits",
                one.label
            ));
            (rung.limiter, rung.remedy) = (Some(UNKNOWN.limiter()), None);
        }
    }

    fn add_untried(&mut self, more: impl IntoIterator<Item = NotTried>) {
        for one in more {
            if self
                .ladder
                .untried
                .iter()
                .all(|known| known.label != one.label)
            {
                self.ladder.untried.push(one);
            }
        }
    }
}

/// Whether a round with enough blocks had a change.
fn is_bounded(tried: &Tried) -> bool {
    tried.blocks > SCREENING_BLOCKS
}

fn figures_of(test: &Findings) -> Figures {
    let summary = &test.summary;
    let (Some(planned), Some(cell)) = (summary.planned.first(), summary.cells.first()) else {
        return (None, None);
    };
    let rate = rate_metric(&planned.conditions);
    let rate = rate.and_then(|metric| cell.figure(metric.name));
    (
        rate,
        cost_of(&planned.conditions, |name| Some(cell.figure(name)?.value)),
    )
}
