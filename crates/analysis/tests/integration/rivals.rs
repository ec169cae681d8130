//! Who has the CPU that an endpoint waits for, and what is advised, on records whose threads and
//! programs are known.

use bitcost_analysis::explain::{LIMITERS, ON_THE_PATH, Verdict, explain_run};
use bitcost_analysis::metrics::RunView;
use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::counters::{ForeignLoad, ForeignProgram};
use bitcost_model::record::{
    Counts, CpuTicks, EndpointRecord, Role, Sample, ThreadKind, ThreadTime,
};

const MS: u64 = 1_000_000;

/// Shares of wall time: the endpoint's thread on a CPU and waiting for one, its NAPI thread on a
/// CPU, other programs.
struct Shares {
    cpu: f64,
    wait: f64,
    napi: f64,
    programs: Option<f64>,
}

/// A window of 2 s, sampled every 100 ms, on a host of this many CPUs.
fn record(role: Role, shares: &Shares, cpus: u32) -> EndpointRecord {
    let samples = (0..=20).map(|step: u64| {
        let ns = step * 100 * MS;
        let of = |share: f64| (share * ns as f64) as u64;
        let thread = |kind, run_ns, wait_ns| ThreadTime {
            kind,
            part: 0,
            run_ns,
            wait_ns,
            slices: step,
            switches: None,
        };
        Sample {
            at_ns: 5_000 * MS + ns,
            cpus: (0..cpus)
                .map(|cpu| CpuTicks {
                    cpu,
                    system: step * 8,
                    idle: step * 2,
                    ..CpuTicks::default()
                })
                .collect(),
            counts: Counts {
                bytes: step * 1_000_000,
                messages: step * 1000,
                ..Counts::default()
            },
            threads: vec![
                thread(ThreadKind::Traffic, of(shares.cpu), of(shares.wait)),
                thread(ThreadKind::Napi, of(shares.napi), 0),
            ],
            ..Sample::default()
        }
    });
    let foreign = |share: f64| ForeignLoad {
        start_ns: 5_000 * MS,
        end_ns: 7_000 * MS,
        cpu_ns: (share * 2e9) as u64,
        programs: vec![ForeignProgram {
            name: "cc1".into(),
            pid: 9,
            cpu_ns: (share * 2e9) as u64,
        }],
    };
    EndpointRecord {
        role,
        window_start_ns: 5_000 * MS,
        window_end_ns: 7_000 * MS,
        ticks_per_second: 100,
        samples: samples.collect(),
        foreign: shares.programs.map(foreign),
        ..EndpointRecord::default()
    }
}

/// The verdict on a sender that is never blocked, next to a receiver that is half of the time.
fn verdict(sender: &Shares, shared_cpus: bool, conditions: &Conditions) -> Verdict {
    let receiver = Shares {
        cpu: 0.5,
        wait: 0.0,
        napi: 0.1,
        programs: sender.programs,
    };
    let run = RunView {
        sender: &record(Role::Sender, sender, 2),
        receiver: &record(Role::Receiver, &receiver, 2),
        conditions,
        shared_cpus,
        napi_threaded: true,
        capacity_mbps: None,
    };
    explain_run(&run, None)
}

fn waiting(napi: f64, programs: Option<f64>) -> Shares {
    Shares {
        cpu: 0.5,
        wait: 0.48,
        napi,
        programs,
    }
}

fn small_messages() -> Conditions {
    Conditions {
        message_size_bytes: 1024,
        ..Conditions::of(Workload::TcpStream)
    }
}

#[test]
fn the_kernels_receive_threads_are_no_other_programs() {
    let found = verdict(&waiting(0.6, Some(0.01)), true, &small_messages());
    assert_eq!(found.limiter().to_string(), "sender's CPU");
    assert!(found.chosen.detail.contains("receive threads"), "{found:?}");
    let remedy = found.remedy();
    assert!(!remedy.contains("programs"), "{remedy}");
    assert!(remedy.contains("larger messages"), "{remedy}");
    assert!(
        !remedy.contains("coalesce=") && !remedy.contains("--sender-cpus"),
        "links of a lab have no interrupts, and both CPUs are in use: {remedy}"
    );
}

#[test]
fn a_tenth_of_a_cpu_of_other_programs_is_said_first() {
    let of = |programs, shared| verdict(&waiting(0.6, programs), shared, &small_messages()).others;
    let found = of(Some(0.45), false).unwrap();
    assert_eq!(
        found.to_string(),
        "other programs took 45 % of a CPU of the receiver's host (most of it cc1)"
    );
    let remedy = |programs, place: &str| {
        let mut found = verdict(&waiting(0.6, Some(programs)), false, &small_messages());
        let row = LIMITERS.into_iter().find(|row| row.name == "rate");
        found.chosen.limiter = row.expect("a limiter").placed(place);
        found.remedy()
    };
    let stop = "stop the other programs first (most of the load is cc1); ";
    assert!(remedy(0.45, ON_THE_PATH).starts_with(stop));
    assert!(remedy(0.95, ON_THE_PATH).contains("if cc1 forwards the packets"));
    assert!(!remedy(0.95, "at h1-eth0").contains("if cc1 forwards"));
    assert_eq!(of(Some(0.45), true).unwrap().role, None);
    for programs in [Some(0.08), None] {
        assert_eq!(of(programs, true), None);
    }
}

#[test]
fn a_receiver_that_waits_while_its_cpu_is_idle_is_in_a_quota_that_it_does_not_see() {
    let times = |cpu, wait| Shares {
        cpu,
        wait,
        napi: 0.0,
        programs: Some(0.01),
    };
    let found = |pinned: &[u32], wait| {
        let mut receiver = record(Role::Receiver, &times(0.1, wait), 2);
        receiver.pinned_cpus = pinned.to_vec();
        for (step, sample) in (0..).zip(&mut receiver.samples) {
            // The second CPU is idle for 88 % of the time.
            (sample.cpus[1].system, sample.cpus[1].idle) = (step * 12 / 10, step * 88 / 10);
        }
        let run = RunView {
            sender: &record(Role::Sender, &times(0.1, 0.0), 2),
            receiver: &receiver,
            conditions: &small_messages(),
            shared_cpus: false,
            napi_threaded: true,
            capacity_mbps: None,
        };
        explain_run(&run, None)
    };
    let quota = found(&[1], 0.8);
    assert_eq!(quota.limiter().to_string(), "CPU quota of the receiver");
    assert!(quota.remedy().contains("cpu.max"), "{quota:?}");
    assert_eq!(found(&[1], 0.3).limiter().to_string(), "unknown");
    // What runs on a CPU that it may use may be what it waits for.
    assert_eq!(found(&[], 0.8).limiter().to_string(), "receiver's CPU");
}

#[test]
fn what_used_too_little_is_not_what_a_thread_waits_for() {
    let rows = [
        (waiting(0.05, Some(0.01)), "other threads of the run"),
        (waiting(0.6, Some(0.01)), "the kernel's receive threads"),
        (waiting(0.6, Some(0.30)), "other programs"),
        (waiting(0.6, None), "other threads take its CPU"),
    ];
    for (shares, named) in rows {
        let found = verdict(&shares, false, &small_messages());
        assert!(found.chosen.detail.starts_with(named), "{found:?}");
    }
}
