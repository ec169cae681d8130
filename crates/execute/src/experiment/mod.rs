//! Experiments on a test, where it is made: rounds of short runs with changes, interleaved with unchanged ones. Each trial
//! and each decision is an event of the test's log.

mod bench;
mod black_hole;
mod improve;
mod prove;
mod search;

use std::time::{Duration, Instant};

use bitcost_analysis::experiment::{Base, How};
use bitcost_analysis::explain::Limiter;
use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::search::{Decision, Goal};

pub use self::bench::{Allows, Bench};
pub use self::black_hole::look;
pub use self::search::search;
use crate::error::ExecuteError;

/// The least window of a run that also shows what limits a test with a change, in milliseconds: enough for a verdict.
const AFTER_MS: u32 = 1000;

/// What limits a test with a change: as its last run shows, else another one.
fn after(
    bench: &mut Bench,
    of: (&Findings, &Event),
    base: &Base,
    how: &How,
) -> Result<(Ending, Option<Limiter>), ExecuteError> {
    let last = bench.last.take();
    let (ending, tested) = match last.filter(|last| last.settings == how.settings) {
        Some(last) => (Ending::Complete, last.found(of)?),
        None => {
            let changed = bench.changed(base, Some(how))?;
            let conditions = Conditions {
                duration_ms: changed.duration_ms.max(AFTER_MS),
                ..changed
            };
            bench.test(of, &conditions, how.settings.clone())?
        }
    };
    Ok((ending, tested.and_then(|(_, after)| after.named)))
}

/// The experiments that follow a test.
#[derive(Clone, Copy, Debug)]
pub enum Experiment {
    /// What limits it, within this time.
    Prove(Duration),
    /// What makes it better, within this time.
    Improve(Goal, Duration),
}

impl Experiment {
    /// Makes it after a test with these findings, and adds what it shows to them. `place` is the event that describes the
    /// hosts.
    ///
    /// # Errors
    /// Those of the session, and when the log cannot be written.
    pub fn make(
        self,
        bench: &mut Bench,
        findings: &mut Findings,
        place: &Event,
    ) -> Result<Ending, ExecuteError> {
        let Some(base) = Base::of(findings) else {
            let why = "no experiments: no run of the test has a result that can be explained";
            bench.progress.message(why);
            return Ok(Ending::Complete);
        };
        match self {
            Experiment::Prove(budget) => {
                bench.last_ms = Some(AFTER_MS);
                let until = Instant::now() + budget;
                let (proving, mut ending) = prove::prove(bench, &base, Vec::new(), until)?;
                bench.last_ms = None;
                let mut proof = proving.proof();
                let is_proved = ending == Ending::Complete && proof.limiter().is_some();
                if let Some((change, _)) = proving.fastest().filter(|_| is_proved) {
                    match after(bench, (findings, place), &base, &change.how) {
                        Ok((ended, then)) => (ending, proof.then) = (ended, then),
                        Err(error) => bench.failed(&error),
                    }
                }
                let decided = bench.decide(Decision::Bottleneck(serde_json::json!(proof)));
                // What cannot be written is printed all the same.
                findings.prove(proof);
                decided.map(|()| ending)
            }
            Experiment::Improve(goal, budget) => {
                improve::improve(bench, (findings, place), base, goal, budget)
            }
        }
    }
}
