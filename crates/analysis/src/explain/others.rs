//! What else took an endpoint's CPU time: other programs, the kernel's receive work, other threads of the run.

use std::fmt;

use bitcost_model::harmless;
use bitcost_model::record::{Role, ThreadKind};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::{RunView, cpu, programs, programs_cpus};

/// The CPU time of other programs, in per cent of one CPU, above which a verdict names them.
pub const OTHERS_PCT: f64 = 10.0;

/// The CPU time of one program, in per cent of one CPU, from which it has no time left.
const FULL_PCT: f64 = 90.0;

/// The part of a thread's waiting that something must be able to explain to be named.
const EXPLAINED: f64 = 0.5;

/// What other programs took at the endpoint whose host they used most.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Others {
    /// The endpoint; absent where both share one host.
    pub role: Option<Role>,
    /// CPU time of all of them, in per cent of one CPU.
    #[serde(rename = "pct_of_a_cpu")]
    pub pct: f64,
    /// The program that took more than half of it.
    pub most: Option<String>,
    /// Whether that program had a CPU nearly for itself, and no time left.
    #[serde(skip)]
    is_full: bool,
}

impl Others {
    /// Those of a run; absent where they took at most [`OTHERS_PCT`], or their clocks are unknown.
    pub(super) fn of(run: &RunView) -> Option<Others> {
        let roles = match run.shared_cpus {
            true => &[Role::Sender][..],
            false => &[Role::Sender, Role::Receiver],
        };
        let at = |role: &Role| Some((*role, programs(run.end(*role))?));
        let loads = roles.iter().filter_map(at);
        let (role, (pct, largest)) = loads.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let most = largest.filter(|(_, of_it)| 2.0 * of_it > pct);
        (pct > OTHERS_PCT).then(|| Others {
            is_full: most.as_ref().is_some_and(|(_, of_it)| *of_it >= FULL_PCT),
            role: (!run.shared_cpus).then_some(role),
            pct,
            most: most.map(|(name, _)| harmless(&name)),
        })
    }

    /// What to do about them, which may forward the packets of the run.
    pub(super) fn remedy(&self, may_forward: bool) -> String {
        let stop = "stop the other programs first";
        let Some(name) = &self.most else {
            return stop.to_owned();
        };
        let forwards = match self.is_full && may_forward {
            true => {
                format!("; if {name} forwards the packets of this test, its CPU is the limit")
            }
            false => String::new(),
        };
        format!("{stop} (most of the load is {name}){forwards}")
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "other programs took {:.0} % of a CPU", self.pct)?;
        match self.role {
            Some(role) => write!(f, " of the {}'s host", role.name())?,
            None => write!(f, " of the host of both endpoints")?,
        }
        match &self.most {
            Some(name) => write!(f, " (most of it {name})"),
            None => Ok(()),
        }
    }
}

/// What has the CPU for which a thread of an endpoint waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// The records do not tell.
    NotKnown,
    /// Other programs, or the run's `stress`.
    Programs,
    /// NAPI threads, `ksoftirqd` and soft interrupts, which handle the run's packets.
    ReceiveWork,
    /// Threads of the run: the peer on the same machine, or other flows.
    OwnThreads,
}

impl Behind {
    /// What an endpoint's thread that waits for this share of the time waits for. A thread waits no longer than others
    /// run, so what used less than half of that time does not explain it.
    pub(super) fn of(run: &RunView, role: Role, wait: f64) -> Behind {
        let explains = |cpus: f64| cpus >= wait * EXPLAINED;
        match programs_cpus(run, role) {
            None => Behind::NotKnown,
            Some(programs) if explains(programs) => Behind::Programs,
            Some(_) if explains(receive_work(run, role)) => Behind::ReceiveWork,
            Some(_) => Behind::OwnThreads,
        }
    }

    /// It as the detail of a limiter.
    pub(super) fn detail(self) -> &'static str {
        match self {
            Behind::NotKnown => "other threads take its CPU",
            Behind::Programs => "other programs take its CPU",
            Behind::ReceiveWork => "the kernel's receive threads (NAPI, ksoftirqd) take its CPU",
            Behind::OwnThreads => "other threads of the run take its CPU",
        }
    }
}

/// CPUs that the kernel used to handle packets on an endpoint's host.
fn receive_work(run: &RunView, role: Role) -> f64 {
    let end = run.end(role);
    let other = run.shared_cpus.then(|| run.end(role.other()));
    let ends = std::iter::once(end).chain(other);
    let threads = ends.filter_map(|end| cpu::of_threads(end, ThreadKind::Napi));
    let cpus = cpu::cpus(end).unwrap_or_default();
    let ticks: u64 = cpus.iter().map(|cpu| cpu.softirq_ticks).sum();
    let second = cpu::span_seconds(end).map(|span| span * end.ticks_per_second as f64);
    threads.sum::<f64>() + second.map_or(0.0, |second| ticks as f64 / second.max(1.0))
}
