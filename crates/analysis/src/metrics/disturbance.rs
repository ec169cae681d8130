//! Whether other programs used the CPUs, by the clocks of their processes.
//!
//! Where a record has no such clocks, all busy time outside of the run's own threads is suspected.

use std::fmt;

use bitcost_model::counters::ForeignLoad;
use bitcost_model::record::{EndpointRecord, Role};

use crate::metrics::counting;
use crate::metrics::cpu;
use crate::metrics::view::RunView;

/// The CPU time of other programs, in per cent of one CPU, above which a run is disturbed.
const FOREIGN_PCT: f64 = 4.0;

/// The least such time, in seconds: three times the clocks' resolution of 10 ms.
const FOREIGN_SECONDS: f64 = 0.03;

/// The share of all CPUs' time, in per cent, above which unexplained work makes a run disturbed,
/// and above which ticks do not say what the run itself used.
const UNEXPLAINED_PCT: f64 = 10.0;

#[derive(Clone, Debug, PartialEq)]
pub enum Disturbance {
    /// Other programs used this much, in per cent of one CPU.
    Programs {
        pct: f64,
        /// The one that used most, with its part.
        largest: Option<(String, f64)>,
    },
    /// Work in no thread of the run, in per cent of all CPUs' time; where the clocks of other
    /// programs are not in the records.
    Unexplained {
        /// Other programs, or soft interrupts for the run.
        pct: f64,
    },
}

impl Disturbance {
    /// Its size, in per cent of what its kind says.
    pub fn pct(&self) -> f64 {
        match self {
            Disturbance::Programs { pct, .. } | Disturbance::Unexplained { pct } => *pct,
        }
    }

    /// What happened, with the bound that it is over.
    pub fn kind(&self) -> String {
        match self {
            Disturbance::Programs { .. } => {
                format!("other programs took over {FOREIGN_PCT} % of a CPU")
            }
            Disturbance::Unexplained { .. } => format!(
                "something else, or soft interrupts in no thread of the run, took over {UNEXPLAINED_PCT} % of the CPUs' time"
            ),
        }
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disturbance::Programs { pct, largest } => {
                write!(f, "other programs took {pct:.0} % of a CPU")?;
                match largest {
                    Some((name, of)) if 2.0 * of >= *pct => {
                        let name = bitcost_model::harmless(name);
                        write!(f, ", most of it {name} ({of:.0} %)")
                    }
                    _ => Ok(()),
                }
            }
            Disturbance::Unexplained { pct } => write!(
                f,
                "something else, or soft interrupts in no thread of the run, took {pct:.0} % of the CPUs' time"
            ),
        }
    }
}

/// The bounds in words, for several runs together.
pub fn disturbance_bounds() -> String {
    format!(
        "other programs took over {FOREIGN_PCT} % of a CPU (where only some processes can be seen: something in no thread of the run took over {UNEXPLAINED_PCT} % of the CPUs' time)"
    )
}

/// What disturbed the run, if anything did; its own `stress` does not.
pub fn disturbance(run: &RunView) -> Option<Disturbance> {
    if !is_known(run) {
        return unexplained(run);
    }
    let much = |end| {
        let (load, seconds) = foreign(end)?;
        let cpu_seconds = load.cpu_ns as f64 / 1e9;
        let is_much = cpu_seconds >= FOREIGN_SECONDS && 100.0 * cpu_seconds > FOREIGN_PCT * seconds;
        is_much.then_some((load.cpu_ns, end))
    };
    let (_, end) = records(run).filter_map(much).max_by_key(|(ns, _)| *ns)?;
    let (pct, largest) = programs(end)?;
    Some(Disturbance::Programs { pct, largest })
}

/// Busy time that is in no thread of the run, where it is enough to suspect other programs.
///
/// Absent for workloads that make connections, because there the kernel's own threads clean up
/// after closed connections.
fn unexplained(run: &RunView) -> Option<Disturbance> {
    let connects = run.conditions.workload.makes_connections();
    let asked = 100.0 * stress_cpus(run) / counting::busy_cpus(run)?.1;
    let pct = counting::other_cpu(run)? - asked;
    (pct > UNEXPLAINED_PCT && !connects).then_some(Disturbance::Unexplained { pct })
}

/// The share of all CPUs' time, in per cent, that the run's own traffic did not use, if ticks would
/// charge it to the run and it is too much for that: other programs, and the run's `stress`.
pub(crate) fn charged_by_ticks_pct(run: &RunView) -> Option<f64> {
    let (_, count) = counting::busy_cpus(run)?;
    let pct = match foreign_cpus(run) {
        Some(foreign) => 100.0 * (foreign + stress_cpus(run)) / count,
        None => counting::other_cpu(run)?,
    };
    (pct > UNEXPLAINED_PCT).then_some(pct)
}

/// The share of its time that the hypervisor took from the CPU that lost most, in per cent.
pub(crate) fn stolen_pct(run: &RunView) -> Option<f64> {
    let share = |end: &EndpointRecord| {
        let cpus = cpu::cpus(end)?.into_iter();
        let most = cpus.map(|cpu| cpu.stolen_seconds).max_by(f64::total_cmp)?;
        Some(100.0 * most / cpu::span_seconds(end)?)
    };
    let shares: Option<Vec<f64>> = records(run).map(share).collect();
    shares?.into_iter().max_by(f64::total_cmp)
}

/// CPUs that other programs used; of both hosts together where there are two.
pub(crate) fn foreign_cpus(run: &RunView) -> Option<f64> {
    records(run).map(|end| Some(programs(end)?.0 / 100.0)).sum()
}

/// CPUs that other programs and the run's `stress` used on the host of an endpoint; absent where the
/// record has no clocks of other programs.
pub(crate) fn programs_cpus(run: &RunView, role: Role) -> Option<f64> {
    if run.shared_cpus {
        return Some(foreign_cpus(run)? + stress_cpus(run));
    }
    let end = run.end(role);
    Some(programs(end)?.0 / 100.0 + stress_of(end))
}

/// CPU time of other programs on an endpoint's host, in per cent of one CPU, and the one that used
/// most with its part; absent where the record has no clocks of other programs.
pub(crate) fn programs(end: &EndpointRecord) -> Option<(f64, Option<(String, f64)>)> {
    let (load, seconds) = foreign(end)?;
    let pct = |cpu_ns: u64| 100.0 * cpu_ns as f64 / 1e9 / seconds;
    let largest = load.programs.first();
    let largest = largest.map(|program| (program.name.clone(), pct(program.cpu_ns)));
    Some((pct(load.cpu_ns), largest))
}

/// Whether the clocks of other programs are in the records.
pub(crate) fn is_known(run: &RunView) -> bool {
    records(run).all(|end| foreign(end).is_some())
}

fn records<'a>(run: &RunView<'a>) -> impl Iterator<Item = &'a EndpointRecord> + use<'a> {
    let hosts = if run.shared_cpus { 1 } else { 2 };
    // An iperf3 server tells nothing of its host.
    let told = run.ends().into_iter().filter(|end| end.iperf3.is_none());
    told.take(hosts)
}

/// The clocks of other programs, and the time between their readings.
fn foreign(end: &EndpointRecord) -> Option<(&ForeignLoad, f64)> {
    let load = end.foreign.as_ref()?;
    let ns = load.end_ns.checked_sub(load.start_ns)?;
    (ns > 0).then_some((load, ns as f64 / 1e9))
}

/// CPUs that the stress threads of both endpoints used.
fn stress_cpus(run: &RunView) -> f64 {
    stress_of(run.sender) + stress_of(run.receiver)
}

/// CPUs that the stress threads of an endpoint used: their number times their mean load, which it
/// reports in this order.
fn stress_of(end: &EndpointRecord) -> f64 {
    let reported = |name: &'static str| {
        let of_name = end.in_effect.iter();
        let of_name = of_name.filter(move |setting| setting.name == name);
        of_name.filter_map(|setting| {
            let words = setting.actual.as_deref()?;
            words.split(' ').next()?.parse::<f64>().ok()
        })
    };
    let loads = reported("stress").zip(reported("stress_load_percent"));
    loads.map(|(count, percent)| count * percent / 100.0).sum()
}
