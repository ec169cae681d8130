//! Where the runs of an experiment are made.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, Change, How, Round, Run};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::log::PlaceFacts;
use bitcost_controller::{Ending, Session, now};
use bitcost_model::conditions::{Conditions, size_tcp_buffers};
use bitcost_model::event::{Event, FORMAT};
use bitcost_model::plan::Plan;
use bitcost_model::search::{Changes, Decision, Measured, Trial};
use bitcost_model::settings::change;
use bitcost_model::{Invalid, Unavailable, harmless};
use bitcost_study::shuffled;

use crate::error::ExecuteError;
use crate::prepared::Prepared;
use crate::progress::Progress;
use crate::target::Target;

/// A sentence where conditions are not possible at the endpoints.
pub type Allows = fn(&Conditions) -> Result<(), Invalid>;

/// A run that ended, with its figures or why it has none; or why it failed. Absent where the user stopped it.
pub(super) type Ended = Option<Result<Result<Run, Unavailable>, Unavailable>>;

pub struct Bench<'a, 'b> {
    pub session: &'a mut Session<'b>,
    pub facts: PlaceFacts,
    pub target: &'a mut Target,
    pub allows: Allows,
    pub progress: &'a mut dyn Progress,
    /// The rounds that were begun.
    pub rounds: u32,
    /// The time that the last round took ÷ the time that was planned for it, where it was longer: what waits in a buffer
    /// takes long on a slow path.
    overrun: f64,
    /// Where a change alternates with the unchanged test, the least window of its last run, in milliseconds: it also shows
    /// what limits then.
    pub last_ms: Option<u32>,
    /// That run.
    pub last: Option<Last>,
}

/// The last run of a change.
pub struct Last {
    pub settings: Changes,
    conditions: Conditions,
    events: Vec<Event>,
}

impl<'a, 'b> Bench<'a, 'b> {
    pub fn new(
        prepared: &'a mut Prepared<'b>,
        target: &'a mut Target,
        allows: Allows,
        progress: &'a mut dyn Progress,
    ) -> Bench<'a, 'b> {
        Bench {
            facts: PlaceFacts::new(prepared.shared_cpus, &prepared.ends, None),
            session: &mut prepared.session,
            target,
            allows,
            progress,
            rounds: 0,
            overrun: 1.0,
            last_ms: None,
            last: None,
        }
    }

    /// The conditions of a short run of a test with a change.
    ///
    /// # Errors
    /// Why they are not possible.
    pub fn changed(&self, base: &Base, how: Option<&How>) -> Result<Conditions, Invalid> {
        let mut conditions = base.short();
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
        if (self.allows)(&conditions).is_err() {
            conditions.warmup_ms = 0;
        }
        (self.allows)(&conditions)?;
        Ok(conditions)
    }

    /// A round of these changes, without runs.
    pub fn plan(&self, base: &Base, changes: &[Change]) -> Result<Round, Invalid> {
        let hows = std::iter::once(None).chain(changes.iter().map(|change| Some(&change.how)));
        let conditions = hows
            .map(|how| self.changed(base, how))
            .collect::<Result<_, _>>()?;
        Ok(Round::new(changes.to_vec(), conditions))
    }

    /// The time of a block of a round.
    pub fn block_time(&self, round: &Round) -> Duration {
        round.block_time().mul_f64(self.overrun)
    }

    /// Makes blocks of a round, each in an order of its own, until they are enough or the next one would exceed the budget.
    pub fn make(
        &mut self,
        round: &mut Round,
        (blocks, budget): (u32, Duration),
        is_enough: &dyn Fn(&Round) -> bool,
    ) -> Result<Ending, ExecuteError> {
        let (began, number) = (Instant::now(), self.rounds);
        let mut made = 0;
        for block in 0..blocks {
            let spent = began.elapsed();
            if block > 0 && (spent + spent / block > budget || is_enough(round)) {
                break;
            }
            for place in shuffled(round.conditions.len(), u64::from(number), block) {
                let change = place.checked_sub(1).map(|place| &round.changes[place].how);
                let settings = change.map_or_else(Changes::new, |how| how.settings.clone());
                let mut conditions = round.conditions[place].clone();
                let is_last = blocks > 1 && place == 1 && block + 1 == blocks;
                let last_ms = self.last_ms.filter(|_| is_last);
                conditions.duration_ms = conditions.duration_ms.max(last_ms.unwrap_or_default());
                let mut events = Vec::new();
                let trial = self.trial(settings.clone(), &conditions, &mut events)?;
                let Some(outcome) = trial else {
                    return Ok(Ending::Interrupted);
                };
                if last_ms.is_some() {
                    self.last = Some(Last {
                        settings,
                        conditions,
                        events,
                    });
                }
                round.runs[place].push(outcome.and_then(|run| run));
            }
            made += 1;
        }
        let planned = round.block_time() * made;
        self.overrun = began.elapsed().div_duration_f64(planned).max(1.0);
        self.rounds += 1;
        Ok(Ending::Complete)
    }

    /// Says why experiments end before their time.
    pub(super) fn failed(&mut self, error: &ExecuteError) {
        self.progress
            .message(&format!("experiments failed: {error}"));
    }

    /// Makes one run, and appends it to the log with the settings that it differs by; one without a figure, such as one in
    /// which nothing arrived, is apart from one that failed. Absent where the user stopped it. Its events come after `events`.
    pub(super) fn trial(
        &mut self,
        settings: Changes,
        conditions: &Conditions,
        events: &mut Vec<Event>,
    ) -> Result<Ended, ExecuteError> {
        let (facts, plan) = (self.facts, Plan::of_one(conditions.clone()));
        let mut outcome = Err(Unavailable("it has no result".to_owned()));
        let mut sink = |event: Event| {
            match &event {
                Event::RunEnded {
                    sender, receiver, ..
                } => outcome = Ok(Run::of(facts, [sender, receiver], conditions)),
                Event::RunFailed { reason, .. } => outcome = Err(Unavailable(reason.clone())),
                Event::Reconnecting { role, reason } => self.progress.message(&format!(
                    "cannot reach the {}, trying again: {}",
                    role.name(),
                    harmless(reason)
                )),
                _ => {}
            }
            events.push(event);
            Ok(())
        };
        self.session.pair.discards = true;
        let ending = self.session.execute(&plan, &BTreeSet::new(), &mut sink);
        self.session.pair.discards = false;
        if ending? != Ending::Complete {
            return Ok(None);
        }
        let run = outcome.as_ref().and_then(|run| run.as_ref());
        let trial = Box::new(Trial {
            round: self.rounds,
            settings,
            window_ms: conditions.duration_ms,
            measured: run.ok().map(|run| Measured {
                rate: run.rate,
                cost_us: run.cost,
            }),
            refused: run.err().map(|why| why.0.clone()),
        });
        self.target.append(&Event::Tried { trial })?;
        Ok(Some(outcome))
    }

    pub fn decide(&mut self, decision: Decision) -> Result<(), ExecuteError> {
        let decision = Box::new(decision);
        self.target.append(&Event::Decided { decision })?;
        Ok(())
    }

    /// Makes the test with these changes once; without findings where it has no result. `place` is the event that describes
    /// the hosts.
    pub fn test(
        &mut self,
        of: (&Findings, &Event),
        conditions: &Conditions,
        changes: Changes,
    ) -> Result<(Ending, Option<(Findings, Base)>), ExecuteError> {
        let conditions = Conditions {
            mode_auto: false,
            ..conditions.clone()
        };
        let mut events = Vec::new();
        if self.trial(changes, &conditions, &mut events)?.is_none() {
            return Ok((Ending::Interrupted, None));
        }
        self.rounds += 1;
        Ok((Ending::Complete, found(of, &conditions, events)?))
    }
}

impl Last {
    /// What it shows; absent where it has no result.
    pub fn found(self, of: (&Findings, &Event)) -> Result<Option<(Findings, Base)>, ExecuteError> {
        found(of, &self.conditions, self.events)
    }
}

/// What the events of one run of a test show, where it has a result. `place` is the event that describes the hosts.
fn found(
    (first, place): (&Findings, &Event),
    conditions: &Conditions,
    events: Vec<Event>,
) -> Result<Option<(Findings, Base)>, ExecuteError> {
    let summary = &first.summary;
    let before = [
        Event::ExecutionBegan {
            format: FORMAT,
            bitcost_version: summary.bitcost_version.clone(),
            at: now(),
            command_line: summary.command_line.clone(),
            study: summary.study.name.clone(),
            study_text: summary.study.text.clone(),
            lab_text: summary.study.lab_text.clone(),
        },
        Event::Planned {
            plan: Plan::of_one(conditions.clone()),
        },
        place.clone(),
    ];
    let events = before.into_iter().chain(events).collect();
    let found = Findings::of_events(first.name.clone(), events);
    let found = found.map_err(|error| ExecuteError::Usage(error.to_string()))?;
    Ok(Base::of(&found).map(|base| (found, base)))
}
