//! Who has an endpoint's CPU while the endpoint's thread waits for it: other programs, the kernel's
//! receive work for the run, or other threads of the run.

use bitcost_model::record::{Role, ThreadKind};

use crate::metrics::cpu;
use crate::metrics::{RunView, programs_cpus};

/// The part of a thread's waiting that something must be able to explain to be named.
const EXPLAINED: f64 = 0.5;

/// What has the CPU that a thread of an endpoint waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rival {
    /// Threads of which nothing is known.
    Unknown,
    /// Other programs, or the run's `stress`.
    Programs,
    /// NAPI threads, `ksoftirqd` and soft interrupts, which handle the run's packets.
    ReceiveWork,
    /// Threads of the run: the peer on the same machine, or other flows.
    OwnThreads,
}

impl Rival {
    /// It as the detail of a limiter.
    pub fn detail(self) -> &'static str {
        match self {
            Rival::Unknown => "other threads take its CPU",
            Rival::Programs => "other programs take its CPU",
            Rival::ReceiveWork => "the kernel's receive threads (NAPI, ksoftirqd) take its CPU",
            Rival::OwnThreads => "other threads of the run take its CPU",
        }
    }
}

/// What else used the CPUs of an endpoint's host, in CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rivals {
    /// Other programs, and the run's `stress`.
    pub programs: f64,
    /// NAPI threads and soft interrupts.
    pub receive_work: f64,
}

impl Rivals {
    /// Those of an endpoint's host; absent where the record has no clocks of other programs.
    pub fn of(run: &RunView, role: Role) -> Option<Rivals> {
        Some(Rivals {
            programs: programs_cpus(run, role)?,
            receive_work: receive_work(run, role),
        })
    }

    /// What a thread that waits for this share of the time waits for. A thread waits no longer than
    /// others run, so what used less than half of that time does not explain it.
    pub fn behind(rivals: Option<Rivals>, wait: f64) -> Rival {
        match rivals {
            Some(rivals) if rivals.programs < wait * EXPLAINED => {
                match rivals.receive_work < wait * EXPLAINED {
                    true => Rival::OwnThreads,
                    false => Rival::ReceiveWork,
                }
            }
            Some(_) => Rival::Programs,
            None => Rival::Unknown,
        }
    }
}

/// CPUs that the kernel used to handle packets on an endpoint's host.
fn receive_work(run: &RunView, role: Role) -> f64 {
    let other = match role {
        Role::Sender => run.receiver,
        Role::Receiver => run.sender,
    };
    let end = run.end(role);
    let ends = std::iter::once(end).chain(run.shared_cpus.then_some(other));
    let threads = ends.filter_map(|end| {
        let (seconds, _) = cpu::thread_seconds(end, ThreadKind::Napi)?;
        Some(seconds / cpu::span_seconds(end)?)
    });
    let ticks: u64 = cpu::cpus(end)
        .unwrap_or_default()
        .iter()
        .map(|cpu| cpu.softirq_ticks)
        .sum();
    let second = cpu::span_seconds(end).map(|span| span * end.ticks_per_second as f64);
    threads.sum::<f64>() + second.map_or(0.0, |second| ticks as f64 / second.max(1.0))
}
