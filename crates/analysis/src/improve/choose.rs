//! Which changes are tried at a step: first those of its bottleneck, then all others.

use super::intervention::{Candidate, Trial};
use super::interventions::{FLOWS, INTERVENTIONS};
use crate::explain::{ExplainedCell, Limiter};
use crate::findings::Findings;
use crate::ladder::NotTried;
use bitcost_model::Invalid;
use bitcost_model::search::Goal;

/// Limiters whose interventions lower the CPU time of a KiB.
const OF_COST: [&str; 4] = [
    "sender_cpu",
    "receiver_cpu",
    "wake_ups",
    "packets_per_second",
];

/// The changes of one stage of a step.
#[derive(Debug, Default)]
pub struct Offers {
    /// Those that can be tried.
    pub candidates: Vec<Candidate>,
    /// Those that cannot.
    pub untried: Vec<NotTried>,
}

/// The changes of a stage: of the first, those of the bottleneck; of the second, all others. `possible` says why settings
/// are not possible here, and `done` has the labels of what was tried without gain at the same bottleneck.
pub fn offers(
    findings: &Findings,
    goal: Goal,
    stage: usize,
    done: &[String],
    possible: &dyn Fn(&Candidate) -> Result<(), Invalid>,
) -> Offers {
    let mut offers = Offers::default();
    let Some(trial) = Trial::of(findings) else {
        return offers;
    };
    let suspects = suspects(findings, &trial);
    let is_own = |of: &[&str]| match goal {
        Goal::Cost => of.iter().any(|name| OF_COST.contains(name)),
        Goal::Rate => suspects.is_empty() || suspects.iter().any(|one| of.contains(&one.name())),
    };
    for row in &INTERVENTIONS {
        // Each flow has the rate that is kept: with more of them the rate is another one.
        let is_other_rate = goal == Goal::Cost && row.name == FLOWS;
        if is_other_rate || is_own(row.of) != (stage == 0) {
            continue;
        }
        for offer in (row.offers)(&trial) {
            let offer = offer.and_then(|candidate| allowed(&trial, candidate, possible));
            match offer {
                Ok(candidate) if done.contains(&candidate.label) => {}
                Ok(candidate) => offers.candidates.push(Candidate {
                    relaxes: row.of,
                    ..candidate
                }),
                Err(untried) => offers.untried.push(untried),
            }
        }
    }
    // Those of the bottleneck itself come before those of what is next.
    if let Some(named) = suspects.first() {
        let is_of_next = |one: &Candidate| !one.relaxes.contains(&named.name());
        offers.candidates.sort_by_key(is_of_next);
    }
    offers
}

fn allowed(
    trial: &Trial,
    candidate: Candidate,
    possible: &dyn Fn(&Candidate) -> Result<(), Invalid>,
) -> Result<Candidate, NotTried> {
    if candidate.needs_root && !trial.is_root() {
        return Err(candidate.untried("it needs root at both hosts"));
    }
    match possible(&candidate) {
        Ok(()) => Ok(candidate),
        Err(why) => Err(candidate.untried(why)),
    }
}

/// The limiter that is proved; else the one that the counters name, and those that come next.
fn suspects(findings: &Findings, trial: &Trial) -> Vec<Limiter> {
    match proved(findings) {
        Some(found) => vec![found.clone()],
        None => {
            let test = &trial.test;
            test.named.iter().chain(&test.next).cloned().collect()
        }
    }
}

/// The limiter of a test that experiments prove.
pub(super) fn proved(findings: &Findings) -> Option<&Limiter> {
    let proof = findings.explanation.cells.first()?.proof.as_ref()?;
    proof.limiter().filter(|_| proof.is_sound)
}

/// The limiter of a test: the proved one, else the one that the counters name.
pub(super) fn limiter(findings: &Findings) -> Option<Limiter> {
    let named = || {
        let verdict = findings
            .explanation
            .cells
            .first()
            .and_then(ExplainedCell::verdict)?;
        Some(verdict.limiter().clone())
    };
    proved(findings).cloned().or_else(named)
}
