//! The CPU quota of a control group.

use bitcost_model::record::Role;

use super::evidence::{candidate, share};
use crate::explain::limiter::Bound::AtLeast;
use crate::explain::limiter::{Candidate, Limiter, LimiterRow, Question, Step};
use crate::explain::signals::Signals;

/// From this share of the time, a quota held the endpoint back.
const THROTTLED: f64 = 0.05;

/// The row.
pub static ROW: LimiterRow = LimiterRow {
    name: "cpu_quota",
    title: "CPU quota",
    remedy: "raise the CPU quota of the end's control group (cpu.max)",
    questions: &[Question {
        step: Step::Quota,
        about: "",
        evidence: "an endpoint throttled 5 % of the time (`cpu.stat`)",
        rule: throttled,
    }],
};

/// The quota of the endpoint with this role.
pub fn quota_of(role: Role) -> Limiter {
    ROW.placed(format!("of the {}", role.name()))
}

fn throttled(signals: &Signals) -> Vec<Candidate> {
    let ends = [Role::Sender, Role::Receiver]
        .into_iter()
        .zip(signals.throttled);
    let held = ends
        .filter_map(|(end, throttled)| Some((end, throttled?)))
        .filter(|(_, share)| *share > 0.0);
    let mut found: Vec<Candidate> = held
        .map(|(end, throttled)| {
            let evidence = share(
                format!("{} held back by its quota", end.name()),
                throttled,
                AtLeast(THROTTLED),
            );
            candidate(quota_of(end), "", vec![evidence])
        })
        .collect();
    found.sort_by(|a, b| b.strength().total_cmp(&a.strength()));
    found
}
