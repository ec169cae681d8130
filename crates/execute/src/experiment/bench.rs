//! Where a test was made, for the trials that follow it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, Change, How, Round, Run};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::PlaceFacts;
use bitcost_controller::{Ending, Session, now};
use bitcost_model::conditions::Conditions;
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::plan::Plan;
use bitcost_model::search::{Changes, Decision, Measured, Trial};
use bitcost_model::{Invalid, Unavailable};
use bitcost_study::settings::change;
use bitcost_study::{shuffled, size_tcp_buffers};

use super::trial::{Allows, try_once};
use crate::error::ExecuteError;
use crate::progress::Progress;
use crate::target::Target;

/// Where a test was made, for the trials that follow it.
pub struct Bench<'a, 'b> {
    pub session: &'a mut Session<'b>,
    pub facts: PlaceFacts,
    pub target: &'a mut Target,
    /// The event that describes the hosts.
    pub prepared: Event,
    pub allows: Allows,
    pub progress: &'a mut dyn Progress,
    /// The rounds that were begun.
    pub rounds: u32,
}

impl Bench<'_, '_> {
    /// The conditions of a short run of a test with a change.
    ///
    /// # Errors
    /// Why they are not possible.
    pub fn changed(
        &self,
        base: &Base,
        how: Option<&How>,
        screens: bool,
    ) -> Result<Conditions, Invalid> {
        let mut conditions = base.short(screens);
        for (name, value) in how.into_iter().flat_map(|how| &how.settings) {
            change(&mut conditions, name, value)?;
            if *name == "tcp_buffers" {
                let path = base.lab.as_ref().and_then(|lab| lab.path());
                size_tcp_buffers(&mut conditions, path.and_then(|path| path.bdp_bytes()))?;
            }
        }
        let mtu_bytes = base
            .lab
            .as_ref()
            .map_or(u32::from(u16::MAX), |lab| lab.mtu_bytes);
        conditions.check(mtu_bytes)?;
        if base.lab.is_some() {
            conditions.check_in_lab(mtu_bytes)?;
        }
        // A peer may have no warm-up.
        let without_warmup = Conditions {
            warmup_ms: 0,
            ..conditions.clone()
        };
        match (self.allows)(&conditions) {
            Ok(()) => Ok(conditions),
            Err(why) => (self.allows)(&without_warmup)
                .map(|()| without_warmup)
                .map_err(|_| why),
        }
    }

    /// A round of these changes, without runs.
    pub fn plan(&self, base: &Base, changes: &[Change], screens: bool) -> Result<Round, Invalid> {
        let hows = std::iter::once(None).chain(changes.iter().map(|change| Some(&change.how)));
        let conditions = hows
            .map(|how| self.changed(base, how, screens))
            .collect::<Result<_, _>>()?;
        Ok(Round::new(changes.to_vec(), conditions))
    }

    /// Makes blocks of a round, each in an order of its own, until they are enough or the next one would exceed the budget.
    pub fn make(
        &mut self,
        round: &mut Round,
        (blocks, budget): (u32, Duration),
        is_enough: &dyn Fn(&Round) -> bool,
    ) -> Result<Ending, ExecuteError> {
        let (began, number) = (Instant::now(), self.rounds);
        self.rounds += 1;
        for block in 0..blocks {
            let spent = began.elapsed();
            if block > 0 && (spent + spent / block > budget || is_enough(round)) {
                break;
            }
            for place in shuffled(round.conditions.len(), u64::from(number), block) {
                let conditions = &round.conditions[place];
                let facts = self.facts;
                let outcome = try_once(self.session, conditions, |ends| {
                    Run::of(facts, ends, conditions)
                })?;
                let Some(outcome) = outcome else {
                    return Ok(Ending::Interrupted);
                };
                self.record(number, round, place, &outcome)?;
                round.runs[place].push(outcome);
            }
        }
        Ok(Ending::Complete)
    }

    fn record(
        &mut self,
        number: u32,
        round: &Round,
        place: usize,
        outcome: &Result<Run, Unavailable>,
    ) -> Result<(), ExecuteError> {
        let change = place.checked_sub(1).map(|place| &round.changes[place].how);
        let settings = change.into_iter().flat_map(|how| &how.settings);
        let trial = Trial {
            round: number,
            settings: settings
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect(),
            window_ms: round.conditions[place].duration_ms,
            measured: outcome.as_ref().ok().map(|run| Measured {
                rate: run.rate,
                cost_us: run.cost,
            }),
            refused: outcome.as_ref().err().map(|why| why.0.clone()),
        };
        self.target.append(&Event::Tried {
            trial: Box::new(trial),
        })?;
        Ok(())
    }

    pub fn decide(&mut self, decision: Decision) -> Result<(), ExecuteError> {
        self.target.append(&Event::Decided {
            decision: Box::new(decision),
        })?;
        Ok(())
    }

    /// Makes the test with other conditions once; without findings where it has no result.
    pub fn test(
        &mut self,
        first: &Findings,
        conditions: &Conditions,
        changes: &Changes,
    ) -> Result<(Ending, Option<Findings>), ExecuteError> {
        let summary = &first.summary;
        let plan = Plan::of_one(Conditions {
            mode_auto: false,
            ..conditions.clone()
        });
        let mut events = vec![
            Event::ExecutionBegan {
                format: FORMAT,
                bitcost_version: summary.bitcost_version.clone(),
                at: now(),
                command_line: summary.command_line.clone(),
                study: summary.study.name.clone(),
                study_text: summary.study.text.clone(),
                lab_text: summary.study.lab_text.clone(),
            },
            Event::Planned { plan: plan.clone() },
            self.prepared.clone(),
        ];
        let mut sink = |event| {
            events.push(event);
            Ok(())
        };
        let ending = self.session.execute(&plan, &BTreeSet::new(), &mut sink)?;
        let found = Findings::of_events(first.name.clone(), events);
        let found = found.map_err(|error| ExecuteError::Usage(error.to_string()))?;
        let base = Base::of(&found).filter(|_| ending == Ending::Complete);
        let trial = Trial {
            round: self.rounds,
            settings: changes.clone(),
            window_ms: conditions.duration_ms,
            measured: base.as_ref().map(|base| Measured {
                rate: base.rate,
                cost_us: None,
            }),
            refused: base.is_none().then(|| "it has no result".to_owned()),
        };
        self.rounds += 1;
        self.target.append(&Event::Tried {
            trial: Box::new(trial),
        })?;
        Ok((ending, base.map(|_| found)))
    }
}
