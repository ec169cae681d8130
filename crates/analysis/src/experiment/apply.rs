//! A verdict with what experiments show of it.

use crate::explain::{
    Candidate, Confidence, ExplainedCell, ON_THE_PATH, Outcome, Proof, Verdict, limiter,
};

/// What to do about a path that limits packets.
const LARGER_PACKETS: &str = "a larger MTU on the whole path, or find what handles its packets and has no CPU time left: a forwarder, a firewall, a tunnel";

/// Adds to the verdict of a cell what experiments show of it: one that is proved says so, and one that is refuted is
/// replaced.
pub fn apply(cell: &mut ExplainedCell, proof: Proof) {
    let found = match &proof.outcome {
        Outcome::Refuted(found) | Outcome::Found(found) => Some((found, Confidence::Proved)),
        Outcome::Likely(found, _) => Some((found, Confidence::Likely)),
        Outcome::Proved | Outcome::Undecided(_) => None,
    };
    for run in &mut cell.runs {
        if let Some((found, confidence)) = found {
            let instead = proof.named.as_ref();
            let instead = instead.map(|named| format!("not {named}, which the counters name"));
            // The row of packets is about the endpoints.
            let is_of_path = Some(found) == limiter("packets_per_second", ON_THE_PATH).as_ref();
            let mut verdict = Verdict {
                chosen: Candidate {
                    detail: instead.unwrap_or_default(),
                    remedy: is_of_path.then(|| LARGER_PACKETS.to_owned()),
                    ..Candidate::named(found.clone(), Vec::new())
                },
                confidence,
                share: 1.0,
                ..run.verdict.clone()
            };
            run.others.tell(&mut verdict);
            run.verdict = verdict;
        }
        let is_proved = proof.outcome == Outcome::Proved;
        let verdict = &mut run.verdict;
        if is_proved && proof.named.as_ref() == Some(verdict.limiter()) {
            verdict.confidence = Confidence::Proved;
        }
    }
    cell.proof = Some(proof);
}
