//! Helpers that make the evidence and the candidates of the questions.

use crate::explain::limiter::{Bound, Candidate, Evidence, Limiter};

/// Evidence in per cent, from a share.
pub(super) fn share(counter: impl Into<String>, value: f64, bound: Bound) -> Evidence {
    let bound = match bound {
        Bound::AtLeast(bound) => Bound::AtLeast(100.0 * bound),
        Bound::AtMost(bound) => Bound::AtMost(100.0 * bound),
    };
    Evidence {
        counter: counter.into(),
        value: 100.0 * value,
        unit: "%",
        bound,
    }
}

pub(super) fn number(
    counter: impl Into<String>,
    value: f64,
    unit: &'static str,
    bound: Bound,
) -> Evidence {
    Evidence {
        counter: counter.into(),
        value,
        unit,
        bound,
    }
}

pub(super) fn candidate(
    limiter: Limiter,
    detail: impl Into<String>,
    evidence: Vec<Evidence>,
) -> Candidate {
    Candidate {
        limiter,
        detail: detail.into(),
        evidence,
        remedy: None,
        rival: None,
    }
}
