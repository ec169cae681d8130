//! Reasons that make the CPU figures of a run weak: other programs, and clocks that are too coarse
//! for them.

use bitcost_model::record::{IdleBaseline, Role};

use crate::metrics::attribution::{Method, attribute};

use crate::metrics::cpu;
use crate::metrics::disturbance::{Disturbance, FOREIGN_PCT, UNEXPLAINED_PCT, disturbance};
use crate::metrics::softirqs::SoftirqMeans;
use crate::metrics::view::RunView;

/// The standard error, in per cent of the figure, from which CPU time is called too coarse.
pub const COARSE_PCT: f64 = 10.0;

/// The share of all CPUs' time, in per cent, from which a host is called busy before the block.
pub const BUSY_BEFORE_PCT: f64 = 100.0 * IdleBaseline::BUSY;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weak {
    /// Other programs used the CPUs during the run.
    Foreign,
    /// Something in no thread of the run used the CPUs, and nothing says whose it was.
    Unexplained,
    /// Other programs used the CPUs before the block.
    BusyBefore,
    /// Too few ticks were counted to attribute CPU time to the endpoints.
    FewTicks,
    /// The host worked too little for a clock of 10 ms.
    CoarseClock,
}

/// A reason that makes the CPU time attributed to an endpoint weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    pub weak: Weak,
    /// The endpoint; absent: both.
    pub end: Option<Role>,
}

impl Weak {
    /// The reason for people, with the bound that it is over.
    pub fn reason(self) -> String {
        match self {
            Weak::Foreign => {
                format!("other programs took over {FOREIGN_PCT} % of a CPU")
            }
            Weak::Unexplained => format!(
                "something else, or soft interrupts in no thread of the run, took over {UNEXPLAINED_PCT} % of the CPUs' time"
            ),
            Weak::BusyBefore => {
                format!(
                    "its host was over {BUSY_BEFORE_PCT} % busy before the block, while bitcost was idle"
                )
            }
            Weak::FewTicks => {
                format!(
                    "its CPU time is of too few ticks: the standard error is over {COARSE_PCT} %"
                )
            }
            Weak::CoarseClock => format!(
                "its host was so little busy that ticks of 10 ms give its CPU time a standard error over {COARSE_PCT} %"
            ),
        }
    }
}

/// Every mark of a run; empty where no reason is known that makes its figures weak.
pub fn marks(run: &RunView) -> Vec<Mark> {
    let method = attribute(run).ok().map(|attribution| attribution.method);
    // A host's load before the block weakens CPU time only if that time includes it: not where the load is subtracted, or
    // where no attributed share has a part of it.
    let by_ticks = method == Some(Method::SoftirqTicks);
    let by_hosts = matches!(method, Some(Method::Hosts | Method::HostsAboveIdle));
    let foreign = disturbance(run).map(|disturbance| match disturbance {
        Disturbance::Unexplained { .. } => Weak::Unexplained,
        Disturbance::Programs { .. } => Weak::Foreign,
    });
    let foreign = foreign.map(|weak| Mark { weak, end: None });
    let of_end = [Role::Sender, Role::Receiver].into_iter().flat_map(|role| {
        let over = |pct: Option<f64>, bound: f64| pct.is_some_and(|pct| pct > bound);
        let before = over(before_pct(run, role), BUSY_BEFORE_PCT);
        let clock = over(clock_pct(run, role), COARSE_PCT);
        let all = [
            (Weak::BusyBefore, by_ticks && before),
            (Weak::FewTicks, over(ticks_pct(run, role), COARSE_PCT)),
            (Weak::CoarseClock, by_hosts && clock),
        ];
        let holding = all.into_iter().filter(|(_, holds)| *holds);
        let end = Some(role);
        holding.map(move |(weak, _)| Mark { weak, end })
    });
    foreign.into_iter().chain(of_end).collect()
}

fn before_pct(run: &RunView, role: Role) -> Option<f64> {
    let count = cpu::cpus(run.end(role))?.len() as f64;
    Some(100.0 * cpu::idle_cpus(run.end(role))? / count)
}

fn ticks_pct(run: &RunView, role: Role) -> Option<f64> {
    let attribution = attribute(run).ok()?;
    if attribution.softirqs != Some(SoftirqMeans::Ticks) {
        return None;
    }
    Some(100.0 * attribution.end(role)?.relative_standard_error?)
}

/// Standard error of the host's busy time above idle, or of all of it if the idle host was not
/// measured.
fn clock_pct(run: &RunView, role: Role) -> Option<f64> {
    let end = run.end(role);
    let error = cpu::busy_error_cpus(end)?;
    let (cpus, error) = match (cpu::cpus_above_idle(end), cpu::idle_seconds(end)) {
        (Some(above), Some(idle_seconds)) => (
            above,
            error.hypot(error * cpu::span_seconds(end)? / idle_seconds),
        ),
        _ => (cpu::busy_cpus(end)?, error),
    };
    (cpus > 0.0).then(|| 100.0 * error / cpus)
}
