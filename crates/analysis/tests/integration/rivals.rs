//! Who has the CPU that an endpoint waits for, and what is advised, on records whose threads and
//! programs are known.

use crate::common::*;
use bitcost_analysis::explain::{Verdict, explain_run};

const MS: u64 = 1_000_000;

/// Shares of wall time: the endpoint's thread on a CPU and waiting for one, its NAPI thread on a
/// CPU, other programs.
struct Shares {
    cpu: f64,
    wait: f64,
    napi: f64,
    programs: Option<f64>,
}

/// A window of 2 s, sampled every 100 ms, on a host of two CPUs.
fn end(role: Role, shares: &Shares) -> EndpointRecord {
    let samples = (0..=20).map(|step: u64| {
        let ns = step * 100 * MS;
        let of = |share: f64| (share * ns as f64) as u64;
        let cpu = |cpu| CpuTicks {
            cpu,
            system: step * 8,
            idle: step * 2,
            ..CpuTicks::default()
        };
        let threads = [
            thread(ThreadKind::Traffic, of(shares.cpu), of(shares.wait)),
            thread(ThreadKind::Napi, of(shares.napi), 0),
        ];
        Sample {
            counts: counts(step * 1000, step * 1_000_000),
            ..sample(5_000 * MS + ns, [0, 1].map(cpu).into(), threads.into())
        }
    });
    let programs = |share: f64| {
        let cpu_ns = (share * 2e9) as u64;
        foreign([5_000 * MS, 7_000 * MS], cpu_ns, "cc1", cpu_ns)
    };
    EndpointRecord {
        foreign: shares.programs.map(programs),
        ..record(role, Counts::default(), samples.collect())
    }
}

/// The verdict on a run of small messages over TCP.
fn explained(ends: [EndpointRecord; 2], shared_cpus: bool) -> Verdict {
    let mut run = Run::new(Workload::TcpStream, ends);
    run.conditions = Conditions {
        message_size_bytes: 1024,
        ..Conditions::of(Workload::TcpStream)
    };
    (run.shared_cpus, run.napi_threaded) = (shared_cpus, true);
    explain_run(&run.view(), None)
}

/// The verdict on a sender that is never blocked, next to a receiver that is half of the time.
fn verdict(sender: &Shares, shared_cpus: bool) -> Verdict {
    let receiver = Shares {
        cpu: 0.5,
        wait: 0.0,
        napi: 0.1,
        programs: sender.programs,
    };
    let ends = [end(Role::Sender, sender), end(Role::Receiver, &receiver)];
    explained(ends, shared_cpus)
}

fn waiting(napi: f64, programs: Option<f64>) -> Shares {
    Shares {
        cpu: 0.5,
        wait: 0.48,
        napi,
        programs,
    }
}

#[test]
fn the_kernels_receive_threads_are_no_other_programs() {
    let found = verdict(&waiting(0.6, Some(0.01)), true);
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
fn other_programs_are_said_where_they_explain_what_is_missing() {
    let busy = |programs: Option<f64>, pinned: &[u32]| {
        let shares = Shares {
            cpu: 0.8,
            wait: 0.0,
            napi: 0.1,
            programs,
        };
        let mut sender = end(Role::Sender, &shares);
        sender.pinned_cpus = pinned.to_vec();
        let receiver = end(Role::Receiver, &Shares { cpu: 0.5, ..shares });
        let found = explained([sender, receiver], false);
        assert_eq!(found.limiter().to_string(), "sender's CPU");
        assert!(!found.remedy().contains("programs"), "{found:?}");
        found.chosen.detail
    };
    let lost = |pct, times| {
        format!(
            "without other programs, which took up to {pct} % of its time, the rate could be {times} times as high"
        )
    };
    // Of two CPUs; of its own they had no more than it left.
    assert_eq!(busy(Some(0.5), &[]), lost(25, "1.3"));
    assert_eq!(busy(Some(0.5), &[0]), lost(20, "1.2"));
    for programs in [Some(0.16), None] {
        assert_eq!(busy(programs, &[]), "");
    }
    // A thread that is never full, behind which a program may forward.
    let idle = |programs| {
        let shares = |cpu| Shares {
            cpu,
            wait: 0.0,
            napi: 0.1,
            programs: Some(programs),
        };
        let ends = [Role::Sender, Role::Receiver].map(|role| end(role, &shares(0.2)));
        explained(ends, false).chosen.detail
    };
    assert!(idle(0.95).contains("cc1 has no CPU time left: if it forwards"));
    assert!(!idle(0.45).contains("cc1"));
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
        let mut receiver = end(Role::Receiver, &times(0.1, wait));
        receiver.pinned_cpus = pinned.to_vec();
        for (step, sample) in (0..).zip(&mut receiver.samples) {
            // The second CPU is idle for 88 % of the time.
            (sample.cpus[1].system, sample.cpus[1].idle) = (step * 12 / 10, step * 88 / 10);
        }
        explained([end(Role::Sender, &times(0.1, 0.0)), receiver], false)
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
        let found = verdict(&shares, false);
        assert!(found.chosen.detail.starts_with(named), "{found:?}");
    }
}
