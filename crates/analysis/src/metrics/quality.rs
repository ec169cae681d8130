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

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub weak: Weak,
    /// The endpoint; absent: both.
    pub end: Option<Role>,
    /// The size of the effect, in per cent of the quantity that the reason names.
    pub pct: f64,
    /// True if it concerns the CPU time attributed to the endpoints, false if it concerns only the
    /// whole host's.
    pub attributed: bool,
}

impl Weak {
    pub fn name(self) -> &'static str {
        match self {
            Weak::Foreign | Weak::Unexplained => "foreign_cpu_use",
            Weak::BusyBefore => "busy_before_block",
            Weak::FewTicks => "too_few_ticks",
            Weak::CoarseClock => "clock_too_coarse",
        }
    }

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
    let by_hosts = matches!(method, Some(Method::Hosts | Method::HostsAboveIdle));
    let foreign = disturbance(run).map(|disturbance| Mark {
        weak: match disturbance {
            Disturbance::Unexplained { .. } => Weak::Unexplained,
            Disturbance::Programs { .. } => Weak::Foreign,
        },
        end: None,
        pct: disturbance.pct(),
        attributed: true,
    });
    let mut marks: Vec<Mark> = foreign.into_iter().collect();
    for role in [Role::Sender, Role::Receiver] {
        let mark = |weak, attributed| {
            move |pct| Mark {
                weak,
                end: Some(role),
                pct,
                attributed,
            }
        };
        let over = |bound: f64| move |pct: &f64| *pct > bound;
        // A host's load before the block weakens attributed CPU time only if that time includes it:
        // not where the load is subtracted, or where no attributed share has a part of it.
        let is_in = method == Some(Method::SoftirqTicks);
        marks.extend(
            before_pct(run, role)
                .filter(over(BUSY_BEFORE_PCT))
                .map(mark(Weak::BusyBefore, is_in)),
        );
        marks.extend(
            ticks_pct(run, role)
                .filter(over(COARSE_PCT))
                .map(mark(Weak::FewTicks, true)),
        );
        marks.extend(
            clock_pct(run, role)
                .filter(over(COARSE_PCT))
                .map(mark(Weak::CoarseClock, by_hosts)),
        );
    }
    marks
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
