//! What else took an endpoint's CPU time: other programs, the kernel's receive work, other threads of the run.

use bitcost_model::record::{Role, ThreadKind};

use crate::metrics::{RunView, cpu, programs_cpus};

/// The part of a thread's waiting that something must be able to explain to be named.
const EXPLAINED: f64 = 0.5;

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
