//! Proof by experiment: which resource limits a run? The one whose change changes the throughput.
//!
//! A verdict is an inference from counters. Here a little of each suspected resource is taken away in runs that are
//! interleaved with unchanged ones, and the elasticity of the throughput says whether it follows (docs/method/prove.md).

mod choose;
mod found;
mod judge;
mod ordinary;
mod perturbation;
mod perturbations;

use crate::explain::Untried;
use crate::findings::Findings;

pub use crate::trials::UNCHANGED;
pub use choose::{Chosen, choose};
pub use judge::{LIMITS_FROM, is_enough, judge};
pub use ordinary::Ordinary;
pub(crate) use ordinary::rate_metric;
pub use perturbation::{Before, FACTOR, LEFT, Perturbation, Settings};
pub use perturbations::PERTURBATIONS;

/// Adds to the findings of a test what these studies of perturbations, in the order in which they were made, show of its
/// verdict. Where it is absent what was not tried is found again, as it was chosen then.
pub fn apply(findings: &mut Findings, stages: &[Findings], untried: Option<Vec<Untried>>) {
    let Some(ordinary) = Ordinary::of(findings) else {
        return;
    };
    let untried = untried.unwrap_or_else(|| refused(&ordinary, stages.len()));
    let stages: Vec<&Findings> = stages.iter().collect();
    let proof = judge(&ordinary, &untried, &stages, false);
    judge::with_proof(findings, proof);
}

/// The perturbations that the test does not allow, of those of this number of stages.
fn refused(ordinary: &Ordinary, stages: usize) -> Vec<Untried> {
    let mut untried = Vec::new();
    let mut done: Vec<&str> = Vec::new();
    for _ in 0..stages {
        let chosen = choose(ordinary, &done, &|_| Ok(()));
        done.extend(chosen.names());
        untried.extend(chosen.untried);
    }
    untried
}
