//! Who has the CPU that an endpoint waits for, and what is advised, on records whose threads and
//! programs are known.

use crate::common::*;
use bitcost_analysis::explain::{Signals, Verdict};

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
    Signals::of(&run.view()).verdict(None)
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
    let busy = |wait: f64, programs: Option<f64>| {
        let shares = Shares {
            cpu: 0.8,
            wait,
            napi: 0.1,
            programs,
        };
        let sender = end(Role::Sender, &shares);
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
    // They took no more than its thread waited for.
    assert_eq!(busy(0.2, Some(0.5)), lost(20, "1.2"));
    assert_eq!(busy(0.2, Some(0.16)), lost(16, "1.2"));
    for (wait, programs) in [(0.2, Some(0.04)), (0.2, None), (0.0, Some(0.5))] {
        assert_eq!(busy(wait, programs), "");
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
    assert!(idle(0.95).contains("cc1 used 95 % of a CPU: if it forwards"));
    assert!(!idle(0.45).contains("cc1"));
}

#[test]
fn offloads_that_are_off_are_said_of_a_full_end_that_lacks_them() {
    let detail = |role: Role, feature: &str| {
        let ends = ENDS.into_iter().zip([0.95, 0.5]).map(|(role, cpu)| {
            let shares = Shares {
                cpu,
                wait: 0.0,
                napi: 0.1,
                programs: None,
            };
            end(role, &shares)
        });
        let mut ends: Vec<EndpointRecord> = ends.collect();
        let active = &mut ends[role as usize].offloads.active;
        active.insert(feature.to_owned(), false);
        let found = explained(ends.try_into().expect("two"), false);
        assert_eq!(found.limiter().name(), "sender_cpu");
        found.chosen.detail
    };
    assert_eq!(detail(Role::Sender, "tx-tcp-segmentation"), "tso off");
    assert_eq!(detail(Role::Receiver, "rx-gro"), "");
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

/// The sender's shares of time with what its readings have in addition, by their number.
fn shares(add: impl Fn(u64, &mut Sample)) -> [f64; 3] {
    let half = Shares {
        cpu: 0.2,
        wait: 0.0,
        napi: 0.0,
        programs: None,
    };
    let mut ends = [Role::Sender, Role::Receiver].map(|role| end(role, &half));
    let samples = ends[0].samples.iter_mut();
    (0..).zip(samples).for_each(|(step, one)| add(step, one));
    let run = Run::new(Workload::TcpStream, ends);
    let times = Signals::of(&run.view()).sender.unwrap();
    let shares = [times.paused, times.disk, times.blocked];
    shares.map(|share| (100.0 * share).round())
}

#[test]
fn a_sender_is_blocked_in_send_for_no_time_in_which_it_stands_still_or_has_nothing_queued() {
    let late = |one: &mut Sample, step| one.paused_ns = step * 70 * MS;
    assert_eq!(shares(|_, _| ()), [0.0, 0.0, 80.0]);
    assert_eq!(shares(|step, one| late(one, step)), [70.0, 0.0, 10.0]);
    let looks = |step, one: &mut Sample| {
        one.threads[0].states = Some(States {
            looks: step * 50,
            stopped: step * 10,
            uninterruptible: step * 20,
        });
    };
    assert_eq!(shares(looks), [20.0, 40.0, 20.0]);
    let queued = |bytes| {
        shares(move |_, one| {
            one.sockets = vec![SocketMemory {
                send_queue_bytes: bytes,
                ..SocketMemory::default()
            }];
        })
    };
    assert_eq!([queued(1), queued(0)].map(|of| of[2]), [80.0, 22.0]);
}
