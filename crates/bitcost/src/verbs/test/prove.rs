//! `--prove`: after the test, short runs in which a little of one resource after the other is taken away, interleaved with
//! unchanged ones.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use bitcost_analysis::explain::{Decision, Untried};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::prove::{Chosen, FACTOR, Ordinary, apply, choose, is_enough, judge};
use bitcost_controller::Ending;
use bitcost_execute::{ExecuteError, PROOF, Until};
use bitcost_model::plan::Lengths;
use bitcost_model::units::{counted, show_duration};

use super::described::Test;
use crate::failure::Failure;
use crate::options::order::new_seed;
use crate::output;

/// The name and the question of a study of perturbations.
const STUDY: (&str, &str) = (
    "prove",
    "Which resource does the throughput follow when a little of it is taken away?",
);

/// The most blocks of a stage that decides, of which the budget allows fewer.
const BLOCKS_PLANNED: u32 = 60;

/// The experiments on the verdict of a test.
struct Experiments<'a, 'b> {
    test: &'a Test<'b>,
    ordinary: Ordinary,
    /// The folder of the test's log; absent where it is kept in memory alone.
    folder: Option<&'a Path>,
    stop: &'a Arc<AtomicBool>,
    until: Instant,
    stages: Vec<Findings>,
    untried: Vec<Untried>,
}

impl Test<'_> {
    /// Makes experiments on the verdict of the test within the budget, and adds what they show to its findings. What
    /// prevents them is said, and costs the proof alone. Returns whether the user stopped them.
    ///
    /// # Errors
    /// Environment, when the kernel gives no random number.
    pub fn prove(
        &self,
        findings: &mut Findings,
        folder: Option<&Path>,
        budget: Duration,
        stop: &Arc<AtomicBool>,
    ) -> Result<Ending, Failure> {
        let Some(ordinary) = Ordinary::of(findings) else {
            output::say("not proved: no run of the test has a result that can be explained");
            return Ok(Ending::Complete);
        };
        let mut experiments = Experiments {
            test: self,
            ordinary,
            folder,
            stop,
            until: Instant::now() + budget,
            stages: Vec::new(),
            untried: Vec::new(),
        };
        let ending = experiments.make()?;
        apply(findings, &experiments.stages, Some(experiments.untried));
        Ok(ending)
    }
}

impl Experiments<'_, '_> {
    /// The suspects first; where the throughput follows none of them, all other resources. Where nothing is suspected,
    /// one block of all, and then those with an effect.
    fn make(&mut self) -> Result<Ending, Failure> {
        let mut done: Vec<&str> = Vec::new();
        let mut screened: Option<Chosen> = None;
        for folder in [PROOF.to_owned(), format!("{PROOF}-2")] {
            let mut chosen = choose(&self.ordinary, &done, &|settings| {
                self.test.possible(&self.ordinary, settings)
            });
            self.untried.extend(chosen.untried.iter().cloned());
            let screens = done.is_empty() && chosen.needs_screening(&self.ordinary);
            done.extend(chosen.names());
            chosen
                .tried
                .extend(screened.take().into_iter().flat_map(|one| one.tried));
            if chosen.tried.is_empty() {
                continue;
            }
            match self.stage(&chosen, &folder, screens)? {
                Ok(Ending::Complete) => {}
                Ok(Ending::Interrupted) => return Ok(Ending::Interrupted),
                Err(error) => {
                    output::say(&format!("experiments failed: {error}"));
                    break;
                }
            }
            let stages: Vec<&Findings> = self.stages.iter().collect();
            let proof = judge(&self.ordinary, &[], &stages, false);
            if screens {
                screened = Some(chosen.standing_out(&proof.tried));
                continue;
            }
            let is_open = proof.tried.iter().any(|one| one.decision == Decision::Open);
            if proof.limiter().is_some() || !proof.is_sound || is_open {
                break;
            }
        }
        Ok(Ending::Complete)
    }

    /// One study of these perturbations, in one block that screens, or in blocks until they decide or the time is over.
    fn stage(
        &mut self,
        chosen: &Chosen,
        folder: &str,
        screens: bool,
    ) -> Result<Result<Ending, ExecuteError>, Failure> {
        let levels = chosen.tried.iter().map(|(row, set)| (row.name, set));
        let blocks = if screens { 1 } else { BLOCKS_PLANNED };
        let study = self
            .test
            .round(&self.ordinary, STUDY, (FACTOR, levels), blocks)?;
        let plan = study.plan(new_seed()?, Lengths::default());
        let budget = self.until.saturating_duration_since(Instant::now());
        output::say(&format!(
            "experiments on the verdict: {}, at most {}",
            counted(chosen.tried.len(), "perturbation"),
            show_duration(Duration::from_secs(budget.as_secs().max(1)))
        ));
        let is_enough = |found: &Findings| {
            let proof = judge(&self.ordinary, &[], &[found], true);
            is_enough(&self.ordinary, &proof)
        };
        let until = Until {
            budget,
            is_enough: &is_enough,
        };
        let place = (self.folder, folder);
        let executed = self
            .test
            .follow((&study, &plan), place, Some(until), self.stop);
        Ok(executed.and_then(|executed| {
            self.stages.extend(executed.findings.ok());
            executed.ending
        }))
    }
}
