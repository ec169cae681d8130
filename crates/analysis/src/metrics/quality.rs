//! Reasons that make the CPU figures of an endpoint weak: other programs before the run, and clocks that are too coarse.

use bitcost_model::record::{IdleBaseline, Role};

use crate::metrics::attribution::{Method, attribute};
use crate::metrics::cpu;
use crate::metrics::softirqs::SoftirqMeans;
use crate::metrics::view::{RunView, quotient};

/// The standard error, in per cent of the figure, from which CPU time is called too coarse.
const COARSE_PCT: f64 = 10.0;

/// The share of all CPUs' time, in per cent, from which a host is called busy before the block.
const BUSY_BEFORE_PCT: f64 = 100.0 * IdleBaseline::BUSY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weak {
    /// Other programs used the CPUs before the block.
    BusyBefore,
    /// Too few ticks were counted to attribute CPU time to the endpoints.
    FewTicks,
    /// The host worked too little for a clock of 10 ms.
    CoarseClock,
}

impl Weak {
    /// The reason for people, with the bound that it is over.
    pub fn reason(self) -> String {
        match self {
            Weak::BusyBefore => format!(
                "other programs used over {BUSY_BEFORE_PCT} % of the CPUs before the test, so that the cost is rough; repeat it on a quiet machine"
            ),
            Weak::FewTicks => format!(
                "its CPU time is of too few ticks: the standard error is over {COARSE_PCT} %"
            ),
            Weak::CoarseClock => format!(
                "its host was so little busy that ticks of 10 ms give its CPU time a standard error over {COARSE_PCT} %"
            ),
        }
    }
}

/// Every reason that makes the CPU time attributed to an endpoint weak.
pub fn marks(run: &RunView) -> Vec<(Weak, Role)> {
    let attribution = attribute(run).ok();
    let method = attribution.map(|attribution| attribution.method);
    // A host's load before the block weakens CPU time only if that time includes it: not where the load is subtracted, or
    // where no attributed share has a part of it.
    let by_ticks = method == Some(Method::SoftirqTicks);
    let by_hosts = matches!(method, Some(Method::Hosts | Method::HostsAboveIdle));
    let of_ticks = attribution.filter(|of| of.softirqs == Some(SoftirqMeans::Ticks));
    let ticks_pct = |role| Some(100.0 * of_ticks?.end(role)?.relative_standard_error?);
    let of_end = |role: Role| {
        let before = by_ticks && before_pct(run, role) > Some(BUSY_BEFORE_PCT);
        let clock = by_hosts && clock_pct(run, role) > Some(COARSE_PCT);
        let all = [
            (Weak::BusyBefore, before),
            (Weak::FewTicks, ticks_pct(role) > Some(COARSE_PCT)),
            (Weak::CoarseClock, clock),
        ];
        let holding = all.into_iter().filter(|(_, holds)| *holds);
        holding.map(move |(weak, _)| (weak, role))
    };
    Role::ALL.into_iter().flat_map(of_end).collect()
}

fn before_pct(run: &RunView, role: Role) -> Option<f64> {
    let count = cpu::cpus(run.end(role))?.len() as f64;
    Some(100.0 * cpu::idle_cpus(run.end(role), |_| true)? / count)
}

/// Standard error of the host's busy time above idle, or of all of it if the idle host was not
/// measured.
fn clock_pct(run: &RunView, role: Role) -> Option<f64> {
    let end = run.end(role);
    let error = cpu::busy_error_cpus(end)?;
    let above = cpu::cpus_above_idle(end).zip(cpu::idle_seconds(end));
    let (cpus, error) = match above {
        Some((above, idle)) => (above, error.hypot(error * cpu::span_seconds(end)? / idle)),
        None => (cpu::busy_cpus(end)?, error),
    };
    quotient(100.0 * error, cpus)
}
