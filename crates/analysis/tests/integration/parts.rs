//! Runs with several parts: figures of each part, figures of all, and figures that cannot be
//! attributed to a single part.

use bitcost_analysis::metrics::{METRICS, Method, RunView, attribute, metric, parts};
use bitcost_model::conditions::{Conditions, Direction, Workload};
use bitcost_model::record::{
    Counts, EndpointRecord, FlowRecord, Latency, PartRecord, PartSample, PhaseCounts, Role, Sample,
    ThreadKind, ThreadTime,
};

const KIB: u64 = 1024;

/// Samples with a traffic thread of each part, and last the NAPI thread: run time in the window, in
/// ms.
fn samples(parts: usize, thread_ms: &[(u32, u64)], napi_ms: u64) -> Vec<Sample> {
    let thread = |kind, part, run_ms: u64| ThreadTime {
        kind,
        part,
        run_ns: 7_000 + run_ms * 1_000_000,
        wait_ns: 0,
        slices: 1,
        switches: None,
    };
    let sample = |at_ns, share: u64| {
        let traffic = thread_ms
            .iter()
            .map(|(part, ms)| thread(ThreadKind::Traffic, *part, share * ms));
        let threads = traffic
            .chain([thread(ThreadKind::Napi, 0, share * napi_ms)])
            .collect();
        Sample {
            at_ns,
            threads,
            background: vec![PartSample::default(); parts - 1],
            ..Sample::default()
        }
    };
    vec![sample(1_000_000_000, 0), sample(3_000_000_000, 1)]
}

fn flow(bytes: u64, messages: u64) -> FlowRecord {
    let measured = Counts {
        calls: messages,
        messages,
        bytes,
        ..Counts::default()
    };
    FlowRecord {
        counts: PhaseCounts {
            measured,
            ..PhaseCounts::default()
        },
        ..FlowRecord::default()
    }
}

/// A record of a window of 2 s.
fn record(
    role: Role,
    flows: Vec<FlowRecord>,
    background: Vec<PartRecord>,
    samples: Vec<Sample>,
) -> EndpointRecord {
    EndpointRecord {
        role,
        window_start_ns: 1_000_000_000,
        window_end_ns: 3_000_000_000,
        counts: FlowRecord::sum(&flows).counts,
        flows,
        background,
        ticks_per_second: 100,
        samples,
        ..EndpointRecord::default()
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

struct Run {
    conditions: Conditions,
    sender: EndpointRecord,
    receiver: EndpointRecord,
}

impl Run {
    fn view(&self) -> RunView<'_> {
        let (sender, receiver, conditions) = (&self.sender, &self.receiver, &self.conditions);
        RunView {
            sender,
            receiver,
            conditions,
            shared_cpus: true,
            napi_threaded: true,
            capacity_mbps: None,
        }
    }

    fn figure(&self, name: &str) -> Option<f64> {
        (metric(name).expect("there").compute)(&self.view())
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
    Run {
        conditions,
        sender: record(
            Role::Sender,
            vec![flow(2000 * KIB, 2000)],
            vec![
                part(Role::Receiver, flow(1000 * KIB, 0)),
                part(Role::Receiver, flow(500 * KIB, 500)),
            ],
            samples(3, &threads, 150),
        ),
        receiver: record(
            Role::Receiver,
            vec![flow(2000 * KIB, 0)],
            vec![
                part(Role::Sender, flow(1000 * KIB, 1000)),
                part(Role::Sender, asked),
            ],
            samples(3, &threads, 350),
        ),
    }
}

fn close(found: Option<f64>, wanted: f64) {
    assert!(
        found.is_some_and(|found| (found - wanted).abs() <= wanted * 1e-9),
        "{found:?}, wanted {wanted}"
    );
}

#[test]
fn each_part_has_its_figures_and_all_have_one_cost() {
    let run = both_and_requests();
    let mbps = |kib: f64| kib * 1024.0 * 8.0 / 2.0 / 1e6;
    close(run.figure("throughput_mbps"), mbps(2000.0));
    close(run.figure("background_throughput_mbps"), mbps(1000.0));
    close(run.figure("total_throughput_mbps"), mbps(3500.0));
    close(run.figure("background_transactions_per_second"), 250.0);
    close(run.figure("background_latency_mean_us"), 30.0);
    close(run.figure("background_latency_p99_us"), 90.0);
    // 500 ms and 700 ms of CPU time over 3500 KiB that each host sent and received.
    close(
        run.figure("sender_total_service_demand_us_per_kib"),
        500_000.0 / 3500.0,
    );
    close(
        run.figure("receiver_total_service_demand_us_per_kib"),
        700_000.0 / 3500.0,
    );
    close(
        run.figure("sender_thread_cpu_us_per_kib"),
        100_000.0 / 2000.0,
    );
    for name in [
        "send_service_demand_us_per_kib",
        "receive_service_demand_us_per_kib",
        "background_loss_pct",
    ] {
        assert_eq!(run.figure(name), None, "{name}");
    }
}

#[test]
fn a_part_alone_is_seen_from_who_sends_in_it_and_has_no_cpu_time_of_the_host() {
    let run = both_and_requests();
    let parts = parts(&run.view());
    let sent: Vec<u64> = parts
        .iter()
        .map(|part| part.sender.counts.measured.bytes / KIB)
        .collect();
    assert_eq!(sent, [2000, 1000, 500]);
    assert!(
        parts
            .iter()
            .all(|part| (part.sender.role, part.receiver.role) == (Role::Sender, Role::Receiver))
    );
    close(
        (metric("sender_thread_cpu_us_per_kib")
            .expect("there")
            .compute)(&parts[1].view()),
        200_000.0 / 1000.0,
    );
    for part in &parts {
        for metric in METRICS
            .iter()
            .filter(|metric| metric.attributed || metric.name.contains("host"))
        {
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
    let run = Run {
        conditions: Conditions {
            flows: 8,
            ..Conditions::default()
        },
        sender: record(
            Role::Sender,
            flows.clone(),
            Vec::new(),
            samples(1, &threads, 40),
        ),
        receiver: record(
            Role::Receiver,
            flows.clone(),
            Vec::new(),
            samples(1, &threads, 240),
        ),
    };
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
        close(
            attribution.end(role).map(|cpu| cpu.cpu_seconds()),
            cpu_ms / 1000.0,
        );
        close(run.figure(name), cpu_ms * 1000.0 / (bytes / KIB) as f64);
    }
}
