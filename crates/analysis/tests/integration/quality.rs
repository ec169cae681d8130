//! The load of the idle hosts, and the reasons that make CPU figures weak, on records whose figures
//! are known.

use bitcost_analysis::metrics::{Method, RunView, Weak, attribute, marks, metric};
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::record::{
    Counts, CpuTicks, EndpointRecord, IdleBaseline, PhaseCounts, Role, Sample, ThreadKind,
    ThreadTime,
};

/// CPUs that were busy for these hundredths of a second of `of`, half of it in soft interrupts.
fn cpus(busy: [u64; 2], of: u64) -> Vec<CpuTicks> {
    let cpu = |(cpu, busy): (u32, u64)| CpuTicks {
        cpu,
        user: 100 + busy - busy / 2,
        softirq: 70 + busy / 2,
        idle: 9000 + of - busy,
        ..CpuTicks::default()
    };
    (0..).zip(busy).map(cpu).collect()
}

/// A window of 2 s with 100 MiB in it, in which the CPUs were busy for these hundredths of a
/// second.
fn record(role: Role, busy: [u64; 2]) -> EndpointRecord {
    let bytes = 100 << 20;
    let thread = |run_ns| ThreadTime {
        kind: ThreadKind::Traffic,
        part: 0,
        run_ns,
        wait_ns: 0,
        slices: 1,
        switches: None,
    };
    let sample = |at_ns, cpus, run_ns| Sample {
        at_ns,
        cpus,
        threads: vec![thread(run_ns)],
        ..Sample::default()
    };
    let own_ns = busy[if role == Role::Sender { 0 } else { 1 }] * 10_000_000;
    EndpointRecord {
        role,
        pinned_cpus: vec![u32::from(role == Role::Receiver)],
        window_start_ns: 5_000_000_000,
        window_end_ns: 7_000_000_000,
        counts: PhaseCounts {
            measured: Counts {
                bytes,
                messages: 1,
                ..Counts::default()
            },
            ..PhaseCounts::default()
        },
        ticks_per_second: 100,
        samples: vec![
            sample(5_000_000_000, cpus([0, 0], 0), 0),
            sample(7_000_000_000, cpus(busy, 200), own_ns),
        ],
        ..EndpointRecord::default()
    }
}

/// A second before the block, in which the CPUs were busy for these hundredths of a second.
fn idle(busy: [u64; 2]) -> Option<IdleBaseline> {
    let (begin, end) = (cpus([0, 0], 0), cpus(busy, 100));
    Some(IdleBaseline {
        start_ns: 1_000_000_000,
        end_ns: 2_000_000_000,
        start: begin,
        end,
    })
}

struct Run {
    ends: [EndpointRecord; 2],
    conditions: Conditions,
    shared_cpus: bool,
}

impl Run {
    fn new(shared_cpus: bool, busy: [u64; 2]) -> Run {
        let conditions = Conditions {
            workload: Workload::UdpStream,
            ..Conditions::default()
        };
        Run {
            ends: [Role::Sender, Role::Receiver].map(|role| record(role, busy)),
            conditions,
            shared_cpus,
        }
    }

    fn rested(mut self, busy: [u64; 2]) -> Run {
        self.ends.iter_mut().for_each(|end| end.idle = idle(busy));
        self
    }

    fn view(&self) -> RunView<'_> {
        let ([sender, receiver], conditions) = (&self.ends, &self.conditions);
        RunView {
            sender,
            receiver,
            conditions,
            shared_cpus: self.shared_cpus,
            napi_threaded: false,
            capacity_mbps: None,
        }
    }

    fn figure(&self, name: &str) -> Option<f64> {
        (metric(name).expect("a metric").compute)(&self.view())
    }

    fn marks(&self) -> Vec<(Weak, Option<Role>)> {
        marks(&self.view())
            .iter()
            .map(|mark| (mark.weak, mark.end))
            .collect()
    }
}

const KIB: f64 = 100.0 * 1024.0;

#[test]
fn what_the_host_did_before_is_taken_off() {
    // 1.5 s of CPU time in 2 s; before, 0.2 s in 1 s.
    let run = Run::new(false, [100, 50]);
    assert_eq!(attribute(&run.view()).expect("told").method, Method::Hosts);
    let run = run.rested([20, 0]);
    let close = |found: Option<f64>, expected: f64| {
        assert!((found.expect("a figure") / expected - 1.0).abs() < 1e-9);
    };
    close(
        run.figure("sender_host_service_demand_us_per_kib"),
        1.5e6 / KIB,
    );
    assert_eq!(
        attribute(&run.view()).expect("told").method,
        Method::HostsAboveIdle
    );
    close(run.figure("send_service_demand_us_per_kib"), 1.1e6 / KIB);
}

#[test]
fn a_host_that_was_as_busy_before_tells_nothing_of_the_run() {
    let run = Run::new(false, [20, 20]).rested([10, 10]);
    assert_eq!(attribute(&run.view()).expect("told").method, Method::Hosts);
}

#[test]
fn foreign_load_is_a_mark_in_the_run_and_before_the_block_is_taken_off() {
    // Another program used CPU 1, on which the sender's thread did not run.
    let run = Run::new(false, [100, 100]).rested([0, 30]);
    assert_eq!(run.marks(), [(Weak::Unexplained, None)]);
}

#[test]
fn ticks_that_are_too_few_are_a_mark_of_the_scope_that_they_tell() {
    // 0.05 s of CPU time in 2 s: the clock of 10 ms is too coarse for the hosts.
    let coarse = [Role::Sender, Role::Receiver].map(|role| (Weak::CoarseClock, Some(role)));
    assert_eq!(Run::new(false, [3, 2]).marks(), coarse);
    // On one host, 30 ticks on each CPU distinguish soft interrupts from the rest too coarsely.
    let found = Run::new(true, [30, 30]).marks();
    assert!(found.contains(&(Weak::FewTicks, Some(Role::Sender))));
    let exact = Run::new(true, [200, 200]);
    assert!(
        !exact
            .marks()
            .iter()
            .any(|(weak, ..)| *weak == Weak::CoarseClock)
    );
    assert!(
        Weak::FewTicks.reason().contains("10 %") && Weak::Unexplained.reason().contains("10 %")
    );
}
