//! What experiments say of a verdict.

use std::time::Duration;

use bitcost_analysis::explain::{Outcome, Proof, Tried};
use bitcost_model::units::show_duration;

/// Perturbations of a sentence: the one that limits, and the next, as its contrast.
const TOLD: usize = 2;

/// The proof in one sentence: `proved: with 20 % less CPU time for the receiver, throughput falls by 19.8 % [19.0, 20.5];
/// with 20 % less CPU time for the sender by 0.3 % [-0.6, 1.2]`.
pub(crate) fn sentence(proof: &Proof) -> String {
    let tried = proof.tried.iter();
    let told: Vec<String> = match &proof.outcome {
        Outcome::Undecided(_) => return outcome(proof),
        Outcome::Likely(_, by) => tried.filter(|one| one.label == *by).map(effect).collect(),
        _ => tried.take(TOLD).map(effect).collect(),
    };
    format!("{}: {}", outcome(proof), told.join("; "))
}

/// What is proved: `proved`, `found receiver's CPU`, `not proved: the intervals are too wide to tell`.
fn outcome(proof: &Proof) -> String {
    match &proof.outcome {
        Outcome::Proved => "proved".to_owned(),
        Outcome::Refuted(found) => {
            let named = proof.named.as_ref().map(ToString::to_string);
            format!(
                "{} is refuted; the bottleneck is {found}",
                named.unwrap_or_default()
            )
        }
        Outcome::Found(found) => format!("found {found}"),
        Outcome::Likely(found, _) => format!("not proved, most likely {found}"),
        Outcome::Undecided(why) => format!("not proved: {why}"),
    }
}

/// The proof with every perturbation, a line each.
pub(super) fn lines(proof: &Proof) -> Vec<String> {
    let tried = proof.tried.iter().map(|one| {
        let more = one
            .more_s
            .map(|more| format!("; {} more would tell", rounded(more)));
        format!(
            "{}{}: {}{}",
            effect(one),
            elasticity(one),
            one.limits.name(),
            more.unwrap_or_default()
        )
    });
    let untried = proof.untried.iter();
    let untried = untried.map(|one| format!("not tried: {}: {}", one.label, one.reason));
    let all = std::iter::once(outcome(proof)).chain(tried).chain(untried);
    all.map(|line| format!("experiment: {line}")).collect()
}

/// `with 20 % less CPU time for the sender, throughput falls by 19.8 % [19.0, 20.5]`.
pub(crate) fn effect(one: &Tried) -> String {
    let (verb, sign) = match one.rate.value > 1.0 {
        true => ("rises", 1.0),
        false => ("falls", -1.0),
    };
    let change = one.rate.map(|ratio| sign * 100.0 * (ratio - 1.0));
    let change = change.with_places(1);
    let (number, bounds) = change.split_once(' ').unwrap_or((&change, ""));
    let by = format!("{number} % {bounds}");
    format!(
        "with {}, throughput {verb} by {}",
        one.changed,
        by.trim_end()
    )
}

fn elasticity(one: &Tried) -> String {
    let found = one.elasticity.map(|found| found.with_places(2));
    found.map_or(String::new(), |found| format!(", elasticity {found}"))
}

fn rounded(seconds: f64) -> String {
    show_duration(Duration::from_secs((seconds as u64).max(1)))
}
