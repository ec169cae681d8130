//! The intervals of one run: what varied within it, and what varies between runs.

use crate::common::*;
use bitcost_analysis::metrics::{SingleRun, single_run};
use bitcost_model::record::{PartRecord, PartSample};
use bitcost_stats::Interval;

/// Steps of 100 ms in a window.
const STEPS: u64 = 100;

/// A record in which each step carried this number of bytes; its host's CPU was busy for 5 ticks of each
/// step's 10.
fn end(role: Role, bytes_of: impl Fn(u64) -> u64) -> EndpointRecord {
    let mut bytes = 7;
    let at = |step: u64| {
        let cpu = CpuTicks {
            user: 5 * step,
            idle: 5 * step,
            ..CpuTicks::default()
        };
        let mut sample = sample(1_000_000_000 + step * 100_000_000, vec![cpu], Vec::new());
        (sample.counts.bytes, sample.counts.messages) = (bytes, bytes);
        bytes += bytes_of(step);
        sample
    };
    let samples: Vec<Sample> = (0..=STEPS).map(at).collect();
    let measured = samples[STEPS as usize].counts.since(&samples[0].counts);
    record(role, measured, samples)
}

/// The interval of a metric between two hosts; `keep` says which samples are in the records.
fn found(
    name: &str,
    bytes_of: impl Fn(u64) -> u64 + Copy,
    keep: impl Fn(usize) -> bool + Copy,
) -> Option<SingleRun> {
    let ends = ENDS.map(|role| {
        let mut record = end(role, bytes_of);
        let mut place = 0..;
        record.samples.retain(|_| place.next().is_some_and(keep));
        record
    });
    interval(name, ends, false)
}

fn interval(name: &str, ends: [EndpointRecord; 2], shared_cpus: bool) -> Option<SingleRun> {
    let run = Run {
        shared_cpus,
        ..Run::new(Workload::default(), ends)
    };
    let run = run.view();
    let interval = single_run(&run, name);
    if let Some(interval) = interval {
        let value = metric(name).and_then(|metric| (metric.compute)(&run));
        assert_eq!(Some(interval.interval().value), value);
    }
    interval
}

/// Soft interrupts are read at the edges of the window alone.
#[test]
fn the_cost_on_own_cpus_has_an_interval() {
    let mut cpu = 0..;
    let ends = ENDS.map(|role| {
        let cpu = cpu.next().expect("a CPU");
        let mut record = end(role, |_| 1 << 20);
        record.pinned_cpus = vec![cpu];
        record
            .in_effect
            .push(in_effect(RECEIVE_CPUS, &cpu.to_string()));
        for sample in &mut record.samples {
            sample.cpus[0].cpu = cpu;
        }
        if role == Role::Sender {
            let times = |cpu, count| SoftirqTime {
                cpu,
                kind: "NET_RX".into(),
                count,
                timed: count / 10,
                sum_ns: count * 100,
                squares_ns2: count * 100_000,
            };
            record.samples[0].softirqs = vec![times(0, 10), times(1, 10)];
            record.samples[STEPS as usize].softirqs = vec![times(0, 10_000), times(1, 10_000)];
        }
        record
    });
    let name = "send_service_demand_us_per_kib";
    let found = interval(name, ends, true).expect("an interval");
    assert!(found.within.error < 0.0005, "{found:?}");
}

const METRICS: [&str; 2] = ["throughput_mbps", "send_service_demand_us_per_kib"];

#[test]
fn a_steady_run_has_the_least_that_varies_between_runs() {
    for (name, between) in METRICS.into_iter().zip([0.01, 0.08]) {
        let steady = found(name, |_| 1 << 20, |_| true).expect("an interval");
        let Interval { value, low, high } = steady.interval();
        assert!(steady.within.error < 1e-8, "{steady:?}");
        // Student's for ten degrees of freedom.
        for bound in [
            high.expect("a bound") - value,
            value - low.expect("a bound"),
        ] {
            assert!(
                (bound / value - 2.2281 * between).abs() < 1e-5,
                "{steady:?}"
            );
        }
    }
}

#[test]
fn what_lasts_for_seconds_widens_the_interval() {
    for name in METRICS {
        // Every second step is slow; the same steps, all fast ones before all slow ones.
        let short = found(name, |step| (1 + step % 2) << 20, |_| true).expect("an interval");
        let long = found(name, |step| (1 + 2 * step / STEPS) << 20, |_| true);
        let long = long.expect("an interval");
        assert!(short.within.error < 0.004, "{short:?}");
        assert!(long.within.error > 0.06, "{long:?}");
        assert!(long.interval().high > short.interval().high, "{long:?}");
    }
}

#[test]
fn no_interval_reaches_above_a_requested_rate() {
    let messages = Conditions {
        message_size_bytes: 1 << 20,
        message_rate: Some(10),
        ..Conditions::default()
    };
    let transactions = Conditions {
        transaction_rate: Some(10 << 20),
        ..Conditions::of(Workload::TcpRr)
    };
    let names = ["throughput_mbps", "transactions_per_second"];
    for (name, conditions) in names.into_iter().zip([messages, transactions]) {
        let ends = ENDS.map(|role| end(role, |_| 1 << 20));
        let run = Run {
            conditions,
            ..Run::new(Workload::default(), ends)
        };
        let found = single_run(&run.view(), name).expect("an interval");
        assert_close(found.interval().high, found.value);
    }
}

#[test]
fn the_other_way_has_the_interval_of_its_own_counts() {
    let ends = ENDS.map(|role| {
        let mut record = end(role, |step| (1 + 2 * step / STEPS) << 20);
        for sample in &mut record.samples {
            let counts = sample.counts;
            sample.background = vec![PartSample {
                counts,
                ..PartSample::default()
            }];
        }
        let mut part = PartRecord::default();
        part.all.counts = record.counts;
        record.background = vec![part];
        record
    });
    let mut run = Run::new(Workload::default(), ends);
    run.conditions.direction = Direction::Both;
    let names = ["throughput_mbps", "background_throughput_mbps"];
    let [one, other] = names.map(|name| single_run(&run.view(), name).expect("an interval"));
    assert!(one.within.error > 0.06, "{one:?}");
    assert_eq!(one, other);
}

#[test]
fn a_run_that_does_not_show_it_has_no_interval() {
    let of = |name, keep: fn(usize) -> bool| found(name, |_| 1 << 20, keep);
    let is_edge = |place| place == 0 || place == STEPS as usize;
    assert_eq!(of("throughput_mbps", is_edge), None);
    assert_eq!(of("throughput_mbps", |place| place <= 8), None);
    assert!(of("throughput_mbps", |place| place <= 9).is_some());
    assert_eq!(of("sender_cpu_util_pct", |_| true), None);
}
