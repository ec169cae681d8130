//! The rules, in the order in which they are tried: the first whose evidence holds names the
//! limiter.

mod cpu;
mod evidence;
mod loss;
mod path;
mod window;

use crate::explain::limiter::Candidate;
use crate::explain::signals::Signals;

/// A rule: the limiters that the signals may show, each with all the evidence that must hold.
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

/// The congestion window as the limiter of a run whose rate grew to its end.
pub fn slow_start(signals: &Signals) -> Option<Candidate> {
    window::slow_start(signals)
}
