//! Records of runs whose figures are known, and the figures that follow from them.

pub use bitcost_analysis::metrics::{METRICS, Method, RunView, attribute, metric};
pub use bitcost_model::conditions::{Conditions, Direction, Workload};
pub use bitcost_model::counters::{
    ForeignLoad, ForeignProgram, Interface, SocketMemory, SoftirqTime,
};
pub use bitcost_model::record::{
    Counts, CpuTicks, EndpointRecord, FlowRecord, IdleBaseline, InEffect, Latency, PhaseCounts,
    RECEIVE_CPUS, Role, Sample, Sequence, States, TcpInfo, ThreadKind, ThreadTime,
};

pub const ENDS: [Role; 2] = [Role::Sender, Role::Receiver];

/// Ticks of two CPUs: user, softirq, idle, iowait.
pub type Load = [(u64, u64, u64, u64); 2];

/// Ticks of two CPUs that had some before.
pub fn ticks(load: &Load) -> Vec<CpuTicks> {
    let cpu = |(cpu, (user, softirq, idle, iowait)): (u32, &(u64, u64, u64, u64))| CpuTicks {
        cpu,
        user: 1000 + user,
        softirq: 50 + softirq,
        idle: 9000 + idle,
        iowait: 20 + iowait,
        ..CpuTicks::default()
    };
    (0..).zip(load).map(cpu).collect()
}

/// A second of the idle hosts before the block, with these ticks.
pub fn idle(load: &Load) -> IdleBaseline {
    IdleBaseline {
        start_ns: 0,
        end_ns: 1_000_000_000,
        start: ticks(&[(0, 0, 0, 0); 2]),
        end: ticks(load),
    }
}

pub fn thread(kind: ThreadKind, run_ns: u64, wait_ns: u64) -> ThreadTime {
    ThreadTime {
        kind,
        part: 0,
        run_ns,
        wait_ns,
        slices: 1,
        switches: None,
        states: None,
    }
}

/// Calls of one message each.
pub fn counts(messages: u64, bytes: u64) -> Counts {
    Counts {
        calls: messages,
        messages,
        bytes,
        ..Counts::default()
    }
}

pub fn sample(at_ns: u64, cpus: Vec<CpuTicks>, threads: Vec<ThreadTime>) -> Sample {
    Sample {
        at_ns,
        cpus,
        threads,
        ..Sample::default()
    }
}

/// A record whose window is from its first sample to its last.
pub fn record(role: Role, measured: Counts, samples: Vec<Sample>) -> EndpointRecord {
    EndpointRecord {
        role,
        window_start_ns: samples[0].at_ns,
        window_end_ns: samples[samples.len() - 1].at_ns,
        counts: PhaseCounts {
            outside: Counts::default(),
            measured,
        },
        ticks_per_second: 100,
        samples,
        ..EndpointRecord::default()
    }
}

/// A setting that nobody requested.
pub fn in_effect(name: &str, actual: &str) -> InEffect {
    InEffect {
        name: name.to_owned(),
        requested: None,
        actual: Some(actual.to_owned()),
    }
}

/// CPU time of other programs in a window, most of it of one.
pub fn foreign([start_ns, end_ns]: [u64; 2], cpu_ns: u64, name: &str, its_ns: u64) -> ForeignLoad {
    ForeignLoad {
        start_ns,
        end_ns,
        cpu_ns,
        programs: vec![ForeignProgram {
            name: name.to_owned(),
            pid: 17,
            cpu_ns: its_ns,
        }],
    }
}

pub struct Run {
    pub sender: EndpointRecord,
    pub receiver: EndpointRecord,
    pub conditions: Conditions,
    pub shared_cpus: bool,
    pub napi_threaded: bool,
}

impl Run {
    /// A run on two hosts.
    pub fn new(workload: Workload, [sender, receiver]: [EndpointRecord; 2]) -> Run {
        Run {
            sender,
            receiver,
            conditions: Conditions {
                workload,
                ..Conditions::default()
            },
            shared_cpus: false,
            napi_threaded: false,
        }
    }

    pub fn view(&self) -> RunView<'_> {
        RunView {
            interrupted: None,
            sender: &self.sender,
            receiver: &self.receiver,
            conditions: &self.conditions,
            shared_cpus: self.shared_cpus,
            napi_threaded: self.napi_threaded,
            shaped_bps: None,
        }
    }

    pub fn end(&mut self, role: Role) -> &mut EndpointRecord {
        match role {
            Role::Sender => &mut self.sender,
            Role::Receiver => &mut self.receiver,
        }
    }

    pub fn ends(&mut self) -> [&mut EndpointRecord; 2] {
        [&mut self.sender, &mut self.receiver]
    }

    pub fn figure(&self, name: &str) -> Option<f64> {
        (metric(name).expect("a metric").compute)(&self.view())
    }

    #[track_caller]
    pub fn assert_has(&self, name: &str, expected: f64) {
        assert_close(self.figure(name), expected);
    }

    #[track_caller]
    pub fn assert_lacks(&self, names: &[&str]) {
        for name in names {
            assert_eq!(self.figure(name), None, "{name}");
        }
    }
}

#[track_caller]
pub fn assert_close(found: Option<f64>, expected: f64) {
    let found = found.expect("a figure");
    assert!(
        (found - expected).abs() <= expected.abs() * 1e-9,
        "found {found}, expected {expected}"
    );
}
