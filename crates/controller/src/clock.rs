//! The clock of an agent, compared with the controller's.

use bitcost_model::conditions::Conditions;
use bitcost_model::protocol::Start;

/// The time for which a sender continues after the measured window, in ns, in addition to the
/// uncertainty of the clocks.
const COOLDOWN_NS: u64 = 10_000_000;

/// An agent's clock and the controller's.
#[derive(Clone, Copy, Debug)]
pub struct ClockRelation {
    /// Agent's clock minus the controller's, in ns.
    pub offset_ns: i128,
    /// Shortest round trip seen, in ns: the offset is known to within half of it.
    pub round_trip_ns: u64,
    /// The time of the comparison by the controller's clock, in ns.
    pub at_ns: u64,
}

impl ClockRelation {
    /// The times of a run on the agent's clock, which begins at this time of the controller's.
    pub fn start(&self, begin_ns: u64, uncertainty_ns: u64, conditions: &Conditions) -> Start {
        let begin_ns = (i128::from(begin_ns) + self.offset_ns).max(0) as u64;
        let window_start_ns = begin_ns + u64::from(conditions.warmup_ms) * 1_000_000;
        let window_end_ns = window_start_ns + conditions.window_limit().as_nanos() as u64;
        Start {
            begin_ns,
            window_start_ns,
            window_end_ns,
            stop_ns: window_end_ns + COOLDOWN_NS + uncertainty_ns,
        }
    }
}
