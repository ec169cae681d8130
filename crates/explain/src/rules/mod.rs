//! The rules, in the order in which they are asked: the first whose evidence holds names the limiter.

mod cpu;
mod loss;
mod path;
mod window;

use crate::limiter::{Bound, Candidate, Evidence, Limiter};
use crate::signals::Signals;

/// A rule: what may limit by what the signals say, with all that must hold.
type Rule = fn(&Signals) -> Vec<Candidate>;

/// Every rule, in order.
const RULES: [Rule; 15] = [
    loss::slow_reader,
    loss::receiver_cpu,
    loss::socket,
    loss::hops,
    loss::path,
    cpu::quota,
    path::shapers,
    cpu::pacing,
    cpu::sender,
    cpu::slow_reader,
    cpu::receiver,
    cpu::shared,
    window::buffers,
    window::congestion,
    path::unseen,
];

/// Every candidate, in the order of the rules.
pub fn candidates(signals: &Signals) -> Vec<Candidate> {
    RULES.iter().flat_map(|rule| rule(signals)).collect()
}

/// The congestion window as the limit of a run whose rate grew to its end.
pub fn slow_start(signals: &Signals) -> Option<Candidate> {
    window::slow_start(signals)
}

/// Evidence in per cent, from a share.
fn share(counter: impl Into<String>, value: f64, bound: Bound) -> Evidence {
    let bound = match bound {
        Bound::AtLeast(bound) => Bound::AtLeast(100.0 * bound),
        Bound::AtMost(bound) => Bound::AtMost(100.0 * bound),
    };
    Evidence { counter: counter.into(), value: 100.0 * value, unit: "%", bound }
}

fn number(counter: impl Into<String>, value: f64, unit: &'static str, bound: Bound) -> Evidence {
    Evidence { counter: counter.into(), value, unit, bound }
}

fn candidate(limiter: Limiter, detail: impl Into<String>, evidence: Vec<Evidence>) -> Candidate {
    Candidate { limiter, detail: detail.into(), evidence }
}
