//! The load of the idle hosts, and the reasons that make CPU figures weak, on records whose figures
//! are known.

use crate::common::*;
use bitcost_analysis::metrics::{Disturbance, Weak, disturbance, marks};

/// CPUs that were busy for these hundredths of a second of `of`, half of it in soft interrupts.
fn load(busy: [u64; 2], of: u64) -> Load {
    busy.map(|busy| (busy - busy / 2, busy / 2, of - busy, 0))
}

impl Run {
    /// A window of 2 s with 100 MiB in it, in which the CPUs were busy for these hundredths of a
    /// second.
    fn busy(shared_cpus: bool, busy: [u64; 2]) -> Run {
        let ends = [(Role::Sender, busy[0]), (Role::Receiver, busy[1])].map(|(role, own)| {
            let at = |at_ns, load, run_ns| {
                let threads = vec![thread(ThreadKind::Traffic, run_ns, 0)];
                sample(at_ns, ticks(&load), threads)
            };
            let samples = vec![
                at(5_000_000_000, load([0, 0], 0), 0),
                at(7_000_000_000, load(busy, 200), own * 10_000_000),
            ];
            let mut end = record(role, counts(1, 100 << 20), samples);
            end.pinned_cpus = vec![u32::from(role == Role::Receiver)];
            end
        });
        Run {
            shared_cpus,
            ..Run::new(Workload::UdpStream, ends)
        }
    }

    /// In a second before the block, the CPUs were busy for these hundredths of a second.
    fn rested(mut self, busy: [u64; 2]) -> Run {
        for end in self.ends() {
            end.idle = Some(idle(&load(busy, 100)));
        }
        self
    }

    fn method(&self) -> Method {
        attribute(&self.view()).expect("told").method
    }
}

const KIB: f64 = 100.0 * 1024.0;

#[test]
fn what_the_host_did_before_is_taken_off() {
    // 1.5 s of CPU time in 2 s; before, 0.2 s in 1 s.
    let run = Run::busy(false, [100, 50]);
    assert_eq!(run.method(), Method::Hosts);
    let run = run.rested([20, 0]);
    run.assert_has("sender_cpu_util_pct", 37.5);
    assert_eq!(run.method(), Method::HostsAboveIdle);
    run.assert_has("send_service_demand_us_per_kib", 1.1e6 / KIB);
}

#[test]
fn a_host_that_was_as_busy_before_tells_nothing_of_the_run() {
    let run = Run::busy(false, [20, 20]).rested([10, 10]);
    assert_eq!(run.method(), Method::Hosts);
}

#[test]
fn foreign_load_is_a_mark_in_the_run_and_before_the_block_is_taken_off() {
    // Another program used CPU 1, on which the sender's thread did not run.
    let run = Run::busy(false, [100, 100]).rested([0, 30]);
    let found = disturbance(&run.view()).expect("a disturbance");
    assert!(matches!(found, Disturbance::Unexplained { .. }) && found.kind().contains("10 %"));
    assert_eq!(marks(&run.view()), []);
}

#[test]
fn ticks_that_are_too_few_are_a_mark_of_the_scope_that_they_tell() {
    // 0.05 s of CPU time in 2 s: the clock of 10 ms is too coarse for the hosts.
    let coarse = ENDS.map(|role| (Weak::CoarseClock, role));
    assert_eq!(marks(&Run::busy(false, [3, 2]).view()), coarse);
    // On one host, 30 ticks on each CPU distinguish soft interrupts from the rest too coarsely.
    let found = marks(&Run::busy(true, [30, 30]).view());
    assert!(found.contains(&(Weak::FewTicks, Role::Sender)));
    let exact = marks(&Run::busy(true, [200, 200]).view());
    assert!(exact.iter().all(|(weak, _)| *weak != Weak::CoarseClock));
    assert!(Weak::FewTicks.reason().contains("10 %"));
}
