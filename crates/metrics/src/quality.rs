//! What makes the CPU figures of a run weak: other programs, and clocks that are too coarse for what they tell.

use model::record::Role;

use crate::attribution::{Method, attribute};
use crate::counting::{DISTURBED_PCT, disturbance_pct};
use crate::cpu;
use crate::view::RunView;

/// From this standard error on, in per cent of the figure, CPU time is called known too coarsely.
pub const COARSE_PCT: f64 = 10.0;

/// From this share of all CPUs' time on, in per cent, a host is called busy before the block.
pub const BUSY_BEFORE_PCT: f64 = 5.0;

/// Why figures are weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weak {
    /// Something else used the CPUs during the run.
    Foreign,
    /// Something else used them before the block.
    BusyBefore,
    /// Too few ticks tell the ends' shares apart.
    FewTicks,
    /// The host worked too little for a clock of 10 ms.
    CoarseClock,
}

/// One mark of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Why.
    pub weak: Weak,
    /// At which end; absent: at both.
    pub end: Option<Role>,
    /// How much, in per cent of what the reason names.
    pub pct: f64,
    /// True where it concerns the CPU time attributed to the ends, false where the whole host's alone.
    pub attributed: bool,
}

impl Weak {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Weak::Foreign => "foreign_cpu_use",
            Weak::BusyBefore => "busy_before_block",
            Weak::FewTicks => "too_few_ticks",
            Weak::CoarseClock => "clock_too_coarse",
        }
    }

    /// The reason for people, with the bound that it is over.
    pub fn reason(self) -> String {
        match self {
            Weak::Foreign => format!(
                "something else, or soft interrupts in no thread of the run, took over {DISTURBED_PCT} % of the CPUs' time"
            ),
            Weak::BusyBefore => {
                format!("its host was over {BUSY_BEFORE_PCT} % busy before the block, with nothing of bitcost at work")
            }
            Weak::FewTicks => {
                format!("too few ticks tell its CPU time apart: the standard error is over {COARSE_PCT} %")
            }
            Weak::CoarseClock => format!(
                "its host was so little busy that ticks of 10 ms tell its CPU time with a standard error over {COARSE_PCT} %"
            ),
        }
    }
}

/// Every mark of a run; none: nothing is known that makes its figures weak.
pub fn marks(run: &RunView) -> Vec<Mark> {
    let method = attribute(run).ok().map(|attribution| attribution.method);
    let by_hosts = matches!(method, Some(Method::Hosts | Method::HostsAboveIdle));
    let foreign = disturbance_pct(run);
    let foreign = foreign.map(|pct| Mark { weak: Weak::Foreign, end: None, pct, attributed: true });
    let mut marks: Vec<Mark> = foreign.into_iter().collect();
    for role in [Role::Sender, Role::Receiver] {
        let mark = |weak, attributed| move |pct| Mark { weak, end: Some(role), pct, attributed };
        let over = |bound: f64| move |pct: &f64| *pct > bound;
        // The load of a host that is subtracted, or of which no attributed share has any part, makes those no weaker.
        let is_in = method == Some(Method::SoftirqTicks);
        marks.extend(before_pct(run, role).filter(over(BUSY_BEFORE_PCT)).map(mark(Weak::BusyBefore, is_in)));
        marks.extend(ticks_pct(run, role).filter(over(COARSE_PCT)).map(mark(Weak::FewTicks, true)));
        marks.extend(clock_pct(run, role).filter(over(COARSE_PCT)).map(mark(Weak::CoarseClock, by_hosts)));
    }
    marks
}

fn before_pct(run: &RunView, role: Role) -> Option<f64> {
    let count = cpu::cpus(run.end(role))?.len() as f64;
    Some(100.0 * cpu::idle_cpus(run.end(role))? / count)
}

fn ticks_pct(run: &RunView, role: Role) -> Option<f64> {
    Some(100.0 * attribute(run).ok()?.end(role).relative_standard_error?)
}

/// Standard error of the host's busy time above idle, or of all of it where the idle host was not measured.
fn clock_pct(run: &RunView, role: Role) -> Option<f64> {
    let end = run.end(role);
    let error = cpu::busy_error_cpus(end)?;
    let (cpus, error) = match (cpu::cpus_above_idle(end), cpu::idle_seconds(end)) {
        (Some(above), Some(idle_seconds)) => (above, error.hypot(error * cpu::span_seconds(end)? / idle_seconds)),
        _ => (cpu::busy_cpus(end)?, error),
    };
    (cpus > 0.0).then(|| 100.0 * error / cpus)
}
