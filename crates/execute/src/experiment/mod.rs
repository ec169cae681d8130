//! Experiments on a test, where it was made: rounds of short runs with changes, interleaved with unchanged ones. Each trial
//! and each decision is an event of the test's log.

mod bench;
mod improve;
mod prove;
pub mod search;
mod trial;

use std::time::Duration;

use bitcost_analysis::findings::Findings;
use bitcost_controller::Ending;
use bitcost_model::search::{Decision, Goal};

pub use self::bench::Bench;
pub use self::trial::Allows;
use crate::error::ExecuteError;

/// The experiments that follow a test.
#[derive(Clone, Copy, Debug)]
pub enum Experiment {
    /// What limits it, within this time.
    Prove(Duration),
    /// What makes it better, within this time.
    Improve(Goal, Duration),
}

impl Experiment {
    /// Makes it after a test with these findings, and adds what it shows to them.
    ///
    /// # Errors
    /// Those of the session, and when the log cannot be written.
    pub fn make(self, bench: &mut Bench, findings: &mut Findings) -> Result<Ending, ExecuteError> {
        match self {
            Experiment::Prove(budget) => {
                let Some((proof, ending)) = prove::prove(bench, findings, budget)? else {
                    let why = "not proved: no run of the test has a result that can be explained";
                    bench.progress.message(why);
                    return Ok(Ending::Complete);
                };
                bench.decide(Decision::Bottleneck(serde_json::json!(proof)))?;
                findings.prove(proof);
                Ok(ending)
            }
            Experiment::Improve(goal, budget) => improve::improve(bench, findings, goal, budget),
        }
    }
}
