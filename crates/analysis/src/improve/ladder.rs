//! The ladder: each step with what limited it, and the change that led to it.

use bitcost_stats::Interval;

use super::Step;
use super::choose::{Offers, limiter, offers, proved};
use super::intervention::Candidate;
use super::round::{BLOCKS_LEAST, FACTOR, SCREENING_BLOCKS, cost_of, measured, winner};
use crate::explain::{ExplainedCell, Limiter, RECEIVE_BUFFER, SEND_BUFFER, UNKNOWN};
use crate::findings::Findings;
use crate::ladder::{End, Kept, Ladder, Measured, NotTried, Rung, Tried};
use crate::prove::rate_metric;
use crate::trials::{Trials, UNCHANGED};
use bitcost_model::search::Goal;

/// The greatest change of the rate of a step between two rounds, as a ratio, that is no drift.
const DRIFT: f64 = 1.15;

/// Limiters of which more of the same always shows whether they limit.
const BUFFERS: [&str; 2] = [RECEIVE_BUFFER.name, SEND_BUFFER.name];

impl Ladder {
    /// The ladder of these steps; absent where the first test has no result.
    pub fn of(first: &Findings, steps: &[Step], refused: &[NotTried]) -> Option<Ladder> {
        let conditions = &first.summary.planned.first()?.conditions;
        let metric = rate_metric(conditions)?;
        let goal = goal(steps);
        let mut ladder = Ladder {
            goal,
            rate_of: (metric.name, metric.unit),
            cost_unit: match conditions.workload.is_transactional() {
                true => "µs/transaction",
                false => "µs/KiB",
            },
            rungs: Vec::new(),
            without: Vec::new(),
            untried: Vec::new(),
            end: End::Early,
            caveats: Vec::new(),
            seen: Vec::new(),
        };
        ladder.add_untried(refused.iter().cloned());
        let mut kept: Option<(Kept, Figures)> = None;
        for step in steps {
            let test = step.test.as_ref().unwrap_or(first);
            ladder.add(test, step, kept.take());
            kept = ladder.tried(step, offered(test, goal, &step.rounds));
        }
        if let Some((last, figures)) = kept {
            // The run ended before the bottleneck after this change was looked for.
            ladder.rungs.push(Rung {
                limiter: None,
                remedy: None,
                is_proved: false,
                change: Some(last),
                rate: figures.0,
                cost: figures.1,
            });
            ladder.end = End::Early;
        }
        Some(ladder)
    }

    fn add(&mut self, test: &Findings, step: &Step, kept: Option<(Kept, Figures)>) {
        let rounds = step.rounds.iter().rev();
        let mut unchanged = rounds.map(|round| figures_of(round, UNCHANGED));
        let now = unchanged.find(|(rate, _)| rate.is_some());
        let (change, before) = kept.unzip();
        if let (Some((Some(now), _)), Some((Some(before), _))) = (now, before)
            && !(1.0 / DRIFT..=DRIFT).contains(&(now.value / before.value))
        {
            self.caveats.push(format!(
                "the rate of step {} changed from one round to the next by {:+.0} %: something else changes meanwhile",
                self.rungs.len(),
                100.0 * (now.value / before.value - 1.0)
            ));
        }
        let (rate, cost) = before.or(now).unwrap_or_else(|| figures(test, 0));
        let limiter = limiter(test);
        let cell = test.explanation.cells.first();
        let verdict = cell.and_then(ExplainedCell::verdict);
        self.rungs.push(Rung {
            remedy: verdict
                .filter(|verdict| !verdict.limiter().is_unknown())
                .map(|verdict| verdict.remedy().to_owned()),
            is_proved: proved(test).is_some(),
            limiter,
            change,
            rate,
            cost,
        });
    }

    /// Takes what the rounds of a step show; returns the change that is kept.
    fn tried(&mut self, step: &Step, (offered, is_all): (Offers, bool)) -> Option<(Kept, Figures)> {
        let Rounds {
            mut seen,
            failed,
            won,
        } = Rounds::of(&step.rounds, self.goal);
        let candidate = |label: &str| offered.candidates.iter().find(|one| one.label == label);
        for (label, reason) in failed {
            if seen.iter().all(|one| one.label != label) {
                let known = candidate(&label).map(|one| one.untried(reason.clone()));
                self.add_untried(known.into_iter());
            }
        }
        self.add_untried(offered.untried.iter().cloned());
        self.seen.extend(seen.iter().map(|one| one.label.clone()));
        let is_seen = |label: &String| {
            self.seen.contains(label) || self.untried.iter().any(|one| one.what == *label)
        };
        let missing: Vec<NotTried> = offered
            .candidates
            .iter()
            .filter(|one| !is_seen(&one.label))
            .map(|one| NotTried {
                command: None,
                ..one.untried("no time was left for it")
            })
            .collect();
        self.end = match is_all && missing.is_empty() {
            false => End::Early,
            _ if seen.iter().any(|one| one.is_open) => End::Undecided,
            _ => End::Complete,
        };
        let Some((won, round)) = won else {
            self.add_untried(missing.into_iter());
            self.contradict(&seen, &offered.candidates);
            self.without = seen;
            return None;
        };
        let of = candidate(&won.label)?;
        if let Some(rung) = self.rungs.last_mut() {
            let mut relaxed = of.relaxes.iter();
            let limiter = rung.limiter.as_ref();
            rung.is_proved |= relaxed.any(|name| limiter.is_some_and(|one| one.name() == *name));
        }
        seen.retain(|one| one.label != won.label);
        self.without = seen;
        let figures = figures_of(round, &won.label);
        let kept = Kept {
            keep: of.keep.clone(),
            needs_root: of.needs_root,
            settings: of.settings.clone(),
            measured: won,
        };
        Some((kept, figures))
    }

    /// Names no buffer as the limiter of the last step where more of it is shown to gain nothing.
    fn contradict(&mut self, seen: &[Tried], candidates: &[Candidate]) {
        let step = self.rungs.len().saturating_sub(1);
        let Some(rung) = self.rungs.last_mut().filter(|rung| !rung.is_proved) else {
            return;
        };
        let is_buffer = |one: &&Limiter| BUFFERS.contains(&one.name());
        let Some(named) = rung.limiter.as_ref().filter(is_buffer) else {
            return;
        };
        let relaxes = |one: &&Tried| {
            let mut same = candidates.iter().filter(|of| of.label == one.label);
            same.any(|of| of.relaxes.contains(&named.name()))
        };
        let mut without = seen.iter().filter(|one| one.is_bounded() && !one.is_open);
        if let Some(one) = without.find(relaxes) {
            self.caveats.push(format!(
                "the counters of step {step} name the {named}, and {} gains nothing: something else limits",
                one.label
            ));
            (rung.limiter, rung.remedy) = (Some(UNKNOWN.limiter()), None);
        }
    }

    fn add_untried(&mut self, more: impl Iterator<Item = NotTried>) {
        for one in more {
            if self.untried.iter().all(|known| known.what != one.what) {
                self.untried.push(one);
            }
        }
    }
}

/// What the rounds of a step show.
struct Rounds<'a> {
    /// Each change by the last round that had it.
    seen: Vec<Tried>,
    /// Changes without a result, with the reason.
    failed: Vec<(String, String)>,
    /// The change that is kept, with its round.
    won: Option<(Measured, &'a Findings)>,
}

impl Rounds<'_> {
    fn of(rounds: &[Findings], goal: Goal) -> Rounds<'_> {
        let (mut seen, mut failed, mut won) = (Vec::new(), Vec::new(), None);
        for round in rounds {
            let (found, refused) = measured(round);
            failed.extend(refused);
            if found.iter().any(|one| one.blocks >= BLOCKS_LEAST) {
                // This round decides what the ones before it left open.
                for known in seen
                    .iter_mut()
                    .filter(|known: &&mut Tried| !known.is_bounded())
                {
                    known.is_open = false;
                }
            }
            let kept = winner(&found, goal).cloned();
            won = kept.map(|one| (one, round)).or(won);
            for one in found {
                seen.retain(|known: &Tried| known.label != one.label);
                seen.push(Tried::of(&one, goal));
            }
        }
        Rounds { seen, failed, won }
    }
}

impl Tried {
    /// Whether a round with enough blocks had it.
    fn is_bounded(&self) -> bool {
        self.gain.is_some_and(|gain| gain.low.is_some())
    }

    /// A change of a round.
    fn of(one: &Measured, goal: Goal) -> Tried {
        // Few blocks rank, and do not bound.
        let is_bounded = one.blocks > SCREENING_BLOCKS;
        let gain = one.gain(goal).map(|gain| match is_bounded {
            true => gain,
            false => Interval {
                low: None,
                high: None,
                ..gain
            },
        });
        Tried {
            label: one.label.clone(),
            gain,
            is_open: match is_bounded {
                true => !one.is_none(goal) && !one.is_gain(goal),
                false => one.is_worth(goal),
            },
        }
    }
}

/// What the study of the rounds looked for, which its name says.
fn goal(steps: &[Step]) -> Goal {
    let mut rounds = steps.iter().flat_map(|step| &step.rounds);
    let is_cost = |round: &Findings| round.summary.study.name.ends_with(Goal::Cost.name());
    match rounds.next().is_some_and(is_cost) {
        true => Goal::Cost,
        false => Goal::Rate,
    }
}

/// What a step had to try, and whether that is of both stages, or the second one has nothing to try. The second stage
/// counts only where a round has a change of it.
fn offered(test: &Findings, goal: Goal, rounds: &[Findings]) -> (Offers, bool) {
    let [mut all, second] = [0, 1].map(|stage| offers(test, goal, stage, &[], &|_| Ok(())));
    let mut trials = rounds.iter().filter_map(|round| Trials::of(round, FACTOR));
    let has = |trials: Trials| {
        let mut labels = second.candidates.iter().map(|one| &one.label);
        labels.any(|label| trials.cell(label).is_some())
    };
    let has_second = trials.any(has);
    let is_all = has_second || second.candidates.is_empty();
    if has_second {
        all.candidates.extend(second.candidates);
        all.untried.extend(second.untried);
    }
    (all, is_all)
}

/// The rate of a cell, and its CPU time.
type Figures = (Option<Interval>, Option<f64>);

fn figures_of(round: &Findings, label: &str) -> Figures {
    let cell = Trials::of(round, FACTOR).and_then(|trials| trials.cell(label));
    cell.map_or((None, None), |cell| figures(round, cell))
}

fn figures(of: &Findings, cell: usize) -> Figures {
    let (planned, figures) = (of.summary.planned.get(cell), of.summary.cells.get(cell));
    let Some((planned, figures)) = planned.zip(figures) else {
        return (None, None);
    };
    let rate = rate_metric(&planned.conditions);
    let rate = rate.and_then(|metric| figures.figure(metric.name).copied());
    let cost = cost_of(&planned.conditions, |name| {
        Some(figures.figure(name)?.value)
    });
    (rate, cost)
}
