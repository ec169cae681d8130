//! Warnings about the result of a study: one sentence each, with the remedy.

mod factors;
mod found;
mod hosts;
mod order;
mod runs;
mod two_regimes;

pub use found::{RunFacts, Study, Warning};

type Check = fn(&Study) -> Vec<Warning>;

const CHECKS: [Check; 11] = [
    runs::too_few,
    order::drift,
    factors::together,
    factors::without_effect,
    runs::rate_missed,
    runs::foreign_load,
    runs::emulator_trouble,
    runs::limited_by_wire,
    two_regimes::found,
    hosts::governor,
    hosts::frequency,
];

/// Every warning, the one that can change the answer most first.
pub fn warnings(study: &Study) -> Vec<Warning> {
    let mut found: Vec<Warning> = CHECKS.iter().flat_map(|check| check(study)).collect();
    found.sort_by(|a, b| b.weight.total_cmp(&a.weight));
    found
}
