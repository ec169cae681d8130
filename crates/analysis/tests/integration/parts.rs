//! Runs with several parts: figures of each part, figures of all, and figures that cannot be
//! attributed to a single part.

use crate::common::*;
use bitcost_analysis::metrics::{Metric, parts};
use bitcost_model::record::{PartRecord, PartSample};

const KIB: u64 = 1024;

/// Samples with a traffic thread of each part, and last the NAPI thread: run time in the window, in
/// ms.
fn samples(parts: usize, thread_ms: &[(u32, u64)], napi_ms: u64) -> Vec<Sample> {
    let at = |at_ns, share: u64| {
        let ns = |run_ms: u64| 7_000 + share * run_ms * 1_000_000;
        let traffic = thread_ms.iter().map(|(part, ms)| ThreadTime {
            part: *part,
            ..thread(ThreadKind::Traffic, ns(*ms), 0)
        });
        let napi = thread(ThreadKind::Napi, ns(napi_ms), 0);
        Sample {
            background: vec![PartSample::default(); parts - 1],
            ..sample(at_ns, Vec::new(), traffic.chain([napi]).collect())
        }
    };
    vec![at(1_000_000_000, 0), at(3_000_000_000, 1)]
}

fn flow(bytes: u64, messages: u64) -> FlowRecord {
    let counts = PhaseCounts {
        measured: counts(messages, bytes),
        ..PhaseCounts::default()
    };
    FlowRecord {
        counts,
        ..FlowRecord::default()
    }
}

/// A record of a window of 2 s.
fn end(
    role: Role,
    flows: Vec<FlowRecord>,
    background: Vec<PartRecord>,
    samples: Vec<Sample>,
) -> EndpointRecord {
    let counts = FlowRecord::sum(&flows).counts;
    EndpointRecord {
        counts,
        flows,
        background,
        ..record(role, counts.measured, samples)
    }
}

fn part(role: Role, all: FlowRecord) -> PartRecord {
    PartRecord {
        role,
        in_effect: Vec::new(),
        flows: vec![all.clone()],
        all,
    }
}

/// A run on one host whose interfaces receive in kernel threads.
fn on_one_host(conditions: Conditions, ends: [EndpointRecord; 2]) -> Run {
    Run {
        conditions,
        shared_cpus: true,
        napi_threaded: true,
        ..Run::new(Workload::TcpStream, ends)
    }
}

/// A stream of 2000 KiB in one direction, one of 1000 KiB in the other, and 500 transactions of 1
/// KiB, request and response together.
fn both_and_requests() -> Run {
    let rr = Conditions {
        latency: true,
        direction: Direction::Reverse,
        ..Conditions::of(Workload::TcpRr)
    };
    let conditions = Conditions {
        direction: Direction::Both,
        background: vec![rr],
        ..Conditions::default()
    };
    let latency = Latency {
        sum_ns: 500 * 30_000,
        max_ns: 90_000,
        buckets: vec![(20_000, 490), (90_000, 10)],
    };
    let asked = FlowRecord {
        latency: Some(latency),
        ..flow(500 * KIB, 500)
    };
    let threads = [(0, 100), (1, 200), (2, 50)];
    let sender = end(
        Role::Sender,
        vec![flow(2000 * KIB, 2000)],
        vec![
            part(Role::Receiver, flow(1000 * KIB, 0)),
            part(Role::Receiver, flow(500 * KIB, 500)),
        ],
        samples(3, &threads, 150),
    );
    let receiver = end(
        Role::Receiver,
        vec![flow(2000 * KIB, 0)],
        vec![
            part(Role::Sender, flow(1000 * KIB, 1000)),
            part(Role::Sender, asked),
        ],
        samples(3, &threads, 350),
    );
    on_one_host(conditions, [sender, receiver])
}

#[test]
fn each_part_has_its_figures_and_all_have_one_cost() {
    let run = both_and_requests();
    let mbps = |kib: f64| kib * 1024.0 * 8.0 / 2.0 / 1e6;
    for (name, expected) in [
        ("throughput_mbps", mbps(2000.0)),
        ("background_throughput_mbps", mbps(1000.0)),
        ("total_throughput_mbps", mbps(3500.0)),
        ("background_transactions_per_second", 250.0),
        ("background_latency_mean_us", 30.0),
        ("background_latency_p99_us", 90.0),
        // 500 ms and 700 ms of CPU time over 3500 KiB that each host sent and received.
        ("sender_total_service_demand_us_per_kib", 5e5 / 3500.0),
        ("receiver_total_service_demand_us_per_kib", 7e5 / 3500.0),
        ("sender_thread_cpu_us_per_kib", 1e5 / 2000.0),
    ] {
        run.assert_has(name, expected);
    }
    run.assert_lacks(&[
        "send_service_demand_us_per_kib",
        "receive_service_demand_us_per_kib",
        "background_loss_pct",
    ]);
}

#[test]
fn a_part_alone_is_seen_from_who_sends_in_it_and_has_no_cpu_time_of_the_host() {
    let run = both_and_requests();
    let parts = parts(&run.view());
    let sent = parts.iter().map(|part| part.sender.counts.measured.bytes);
    assert_eq!(
        sent.collect::<Vec<_>>(),
        [2000, 1000, 500].map(|kib| kib * KIB)
    );
    for part in &parts {
        assert_eq!([part.sender.role, part.receiver.role], ENDS);
    }
    let figure = |name: &str, view: &RunView| (metric(name).expect("there").compute)(view);
    let of_thread = figure("sender_thread_cpu_us_per_kib", &parts[1].view());
    assert_close(of_thread, 200_000.0 / 1000.0);
    for part in &parts {
        let is_of_host = |metric: &&Metric| metric.attributed || metric.name.contains("host");
        for metric in METRICS.iter().filter(is_of_host) {
            assert_eq!((metric.compute)(&part.view()), None, "{}", metric.name);
        }
    }
}

#[test]
fn the_cost_of_eight_flows_is_the_sum_of_their_parts() {
    let flows: Vec<FlowRecord> = (1..=8)
        .map(|index| flow(index * 100 * KIB, index * 100))
        .collect();
    let threads: Vec<(u32, u64)> = (1..=8).map(|index| (0, index * 10)).collect();
    let conditions = Conditions {
        flows: 8,
        ..Conditions::default()
    };
    let ends = [(Role::Sender, 40), (Role::Receiver, 240)].map(|(role, napi_ms)| {
        let samples = samples(1, &threads, napi_ms);
        end(role, flows.clone(), Vec::new(), samples)
    });
    let run = on_one_host(conditions, ends);
    let attribution = attribute(&run.view()).expect("by threads");
    assert_eq!(attribution.method, Method::NapiThread);
    let of_flows: u64 = threads.iter().map(|(_, ms)| ms).sum();
    let bytes: u64 = flows.iter().map(|flow| flow.counts.measured.bytes).sum();
    assert_eq!(run.sender.counts.measured.bytes, bytes);
    for (role, napi_ms, name) in [
        (Role::Sender, 40, "send_service_demand_us_per_kib"),
        (Role::Receiver, 240, "receive_service_demand_us_per_kib"),
        (
            Role::Receiver,
            240,
            "receiver_total_service_demand_us_per_kib",
        ),
    ] {
        let cpu_ms = (of_flows + napi_ms) as f64;
        assert_close(
            attribution.end(role).map(|of| 2.0 * of.cpus),
            cpu_ms / 1000.0,
        );
        run.assert_has(name, cpu_ms * 1000.0 / (bytes / KIB) as f64);
    }
}
