//! The evidence names no limiter.

use crate::explain::limiter::{Candidate, Confidence, LimiterRow, Verdict};

/// The row; no question leads to it.
pub static ROW: LimiterRow = LimiterRow {
    name: "unknown",
    title: "unknown",
    remedy: "measure for longer, or with experiments (--prove)",
    questions: &[],
};

/// The verdict that no limiter can be named, and why.
pub fn verdict(why: impl Into<String>, runner_up: Option<Candidate>) -> Verdict {
    let chosen = Candidate {
        limiter: ROW.limiter(),
        detail: why.into(),
        evidence: Vec::new(),
        remedy: None,
        rival: None,
    };
    Verdict {
        chosen,
        confidence: Confidence::Low,
        runner_up,
        share: 1.0,
        by_figures: false,
        others: None,
    }
}
