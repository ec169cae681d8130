//! Every formula, tested on records whose figures are known.

use crate::common::*;
use bitcost_analysis::explain::Signals;
use bitcost_analysis::metrics::{
    Attribution, CpuUse, Disturbance, SoftirqMeans, Weak, WireLoad, disturbance, marks, wire_load,
};
use bitcost_analysis::profile::{Place, run_profile};
use bitcost_model::counters::Queue;
use bitcost_model::profile::{Layer, Profile, ProfileEvent, ProfiledStack, ProfiledTask};
use bitcost_model::record::{Arrivals, DelayVariation, Iperf3Peer, Pacing, Switches};

/// A record of a window of 2 s in which `bytes` were carried in messages of 1024 bytes.
fn window(role: Role, bytes: u64, load: Load) -> EndpointRecord {
    let samples = [(5_000_000_000, [(0, 0, 0, 0); 2]), (7_000_000_000, load)];
    let samples = samples.map(|(at_ns, load)| sample(at_ns, ticks(&load), Vec::new()));
    let mut record = record(role, counts(bytes / 1024, bytes), samples.to_vec());
    record.counts.measured.calls /= 2;
    record.pinned_cpus = vec![u32::from(role == Role::Receiver)];
    record
}

/// CPU 0: 120 user, 30 softirq, 40 idle, 10 iowait of 200 ticks; CPU 1: 50 user, 50 softirq, 100
/// idle.
const LOAD: Load = [(120, 30, 40, 10), (50, 50, 100, 0)];

const MIB: u64 = 1 << 20;

impl Run {
    /// 200 MiB sent, 150 MiB received, as datagrams, on one host.
    fn udp() -> Run {
        let mut receiver = window(Role::Receiver, 150 * MIB, LOAD);
        let sent = 200 * 1024;
        receiver.sequence = Some(Sequence {
            measured_sent: sent,
            measured_lost: sent / 4,
            ..Sequence::default()
        });
        let sender = window(Role::Sender, 200 * MIB, LOAD);
        Run {
            shared_cpus: true,
            ..Run::new(Workload::UdpStream, [sender, receiver])
        }
    }

    fn on_two_hosts() -> Run {
        Run {
            shared_cpus: false,
            ..Run::udp()
        }
    }

    /// A stream in place of datagrams.
    fn tcp() -> Run {
        let mut run = Run::udp();
        run.conditions.workload = Workload::TcpStream;
        run.receiver.sequence = None;
        run
    }

    /// The receive work of both endpoints is confined to the CPUs of their traffic.
    fn on_own_cpus() -> Run {
        let mut run = Run::udp();
        for (end, cpu) in run.ends().into_iter().zip(["0", "1"]) {
            end.in_effect.push(in_effect(RECEIVE_CPUS, cpu));
        }
        run
    }

    /// Before the block, CPU 0 was 10 % busy and CPU 1 this much.
    fn busy_before(mut self, busy: u64) -> Run {
        for end in self.ends() {
            end.idle = Some(idle(&[(10, 0, 90, 0), (busy, 0, 100 - busy, 0)]));
        }
        self
    }

    /// How long the traffic and the NAPI thread of each endpoint ran, in ms.
    fn threads(mut self, traffic: [u64; 2], napi: Option<[u64; 2]>) -> Run {
        for (place, end) in self.ends().into_iter().enumerate() {
            let all = [
                (ThreadKind::Traffic, Some(traffic)),
                (ThreadKind::Napi, napi),
            ];
            for (kind, ms) in all.iter().filter_map(|(kind, ms)| Some((*kind, (*ms)?))) {
                for (sample, run_ns) in end.samples.iter_mut().zip([0, ms[place] * 1_000_000]) {
                    let run_ns = 1_000_000 + run_ns;
                    sample.threads.push(thread(kind, run_ns, run_ns / 10));
                }
            }
        }
        self
    }

    fn attributed(&self) -> Attribution {
        attribute(&self.view()).unwrap()
    }

    /// How many seconds of CPU time are the sender's, the receiver's, and the wire's.
    #[track_caller]
    fn assert_attributed(&self, method: Method, expected: [Option<f64>; 3]) {
        let found = self.attributed();
        assert_eq!(found.method, method);
        let found = [found.sender, found.receiver, found.wire];
        for (found, expected) in found.map(seconds).into_iter().zip(expected) {
            match expected {
                Some(expected) => assert_close(found, expected),
                None => assert_eq!(found, None),
            }
        }
    }

    /// Why no CPU time is attributed.
    fn not_attributed(&self) -> String {
        attribute(&self.view()).unwrap_err().to_string()
    }
}

fn seconds(of: Option<CpuUse>) -> Option<f64> {
    of.map(|cpu| 2.0 * cpu.cpus)
}

#[test]
fn throughput_counts_bits_of_user_data() {
    let mut run = Run::udp();
    run.receiver.window_end_ns = 9_000_000_000;
    run.assert_has("throughput_mbps", 150.0 * 1.048_576 * 8.0 / 2.0);
    run.assert_has("send_throughput_mbps", 200.0 * 1.048_576 * 8.0 / 2.0);
    run.assert_has("messages_per_second", 102_400.0);
    run.conditions.workload = Workload::TcpStream;
    run.assert_has("throughput_mbps", 150.0 * 1.048_576 * 8.0 / 4.0);
}

#[test]
fn busy_time_is_wall_clock_less_idle_and_iowait() {
    let mut run = Run::udp();
    run.assert_has("sender_cpu_util_pct", 100.0 * (1.5 + 1.0) / 4.0);
    run.assert_has("receiver_peak_cpu_pct", 75.0);
    run.sender.samples[1].cpus[0].idle += 1000;
    run.assert_has("sender_cpu_util_pct", 100.0 * 1.0 / 4.0);
}

#[test]
fn on_two_hosts_each_end_is_its_host() {
    let run = Run::on_two_hosts();
    assert_eq!(run.attributed().method, Method::Hosts);
    run.assert_has("send_service_demand_us_per_kib", 2.5e6 / (200.0 * 1024.0));
    let received = 2.5e6 / (150.0 * 1024.0);
    run.assert_has("receive_service_demand_us_per_kib", received);
    run.assert_has("loss_pct", 25.0);
}

#[test]
fn napi_threads_in_use_tell_the_ends_apart() {
    let run = Run::udp().threads([800, 600], Some([100, 300]));
    run.assert_attributed(Method::NapiThread, [Some(0.9), Some(0.9), None]);
    run.assert_has("sender_thread_cpu_us_per_kib", 0.8e6 / (200.0 * 1024.0));
    run.assert_lacks(&["send_attribution_error_pct"]);
}

/// The account of an end's own CPUs has other programs above what was there before; so has its profile.
#[test]
fn other_programs_on_an_ends_own_cpus_are_in_both_accounts() {
    let mut run = Run::on_own_cpus().busy_before(5);
    let stack = |task, cpu, count| ProfiledStack {
        task,
        stack: "[user]".to_owned(),
        count,
        cpu: Some(cpu),
    };
    let profile = Profile {
        event: ProfileEvent::CpuClock,
        rate_hz: 1000,
        window_ns: 2_000_000_000,
        cpus: 2,
        samples: 1250,
        lost: 0,
        stacks: vec![
            stack(ProfiledTask::Sender, 0, 550),
            stack(ProfiledTask::Receiver, 1, 350),
            stack(ProfiledTask::Agent, 0, 200),
            stack(ProfiledTask::Other("cron".to_owned()), 1, 150),
        ],
    };
    run.sender.profile = Some(Box::new(profile));
    let place = |_| Place {
        only: None,
        devices: [None, None],
    };
    let found = run_profile(&run.view(), place).expect("a profile");
    for (role, other) in [(Role::Sender, 0.1 / 0.55), (Role::Receiver, 0.1 / 0.35)] {
        let layers = &found[&role].layers;
        let ratio = layers[&Layer::OtherPrograms] / layers[&Layer::Application];
        assert_close(Some(ratio), other);
    }
}

#[test]
fn ends_with_own_cpus_and_the_wire_make_up_the_busy_time_above_idle() {
    // NAPI threads in use do not change the method.
    let own_cpus = Run::on_own_cpus().threads([600; 2], Some([300; 2]));
    let mut run = own_cpus.busy_before(5);
    // CPU 0: 1.5 s busy, 30 of 150 ticks soft interrupts, 10 % before; CPU 1: 1 s, 50 of 100, 5 %.
    let (sender, receiver, wire) = (1.5 * 0.8 - 0.2, 1.0 * 0.5 - 0.1, 1.5 * 0.2 + 1.0 * 0.5);
    run.assert_attributed(Method::OwnCpus, [sender, receiver, wire].map(Some));
    assert_close(Some(sender + receiver + wire), 2.5 - 0.2 - 0.1);
    run.assert_has("wire_service_demand_us_per_kib", 0.8e6 / (150.0 * 1024.0));
    assert!(run.figure("send_attribution_error_pct").is_some());
    let load = |role| wire_load(&run.view(), role).expect("a wire");
    assert_close(Some(load(Role::Sender).busy), 0.75);
    assert_close(Some(load(Role::Sender).wire), 0.2);
    assert_close(Some(load(Role::Receiver).busy), 0.5);
    assert_close(Some(load(Role::Receiver).wire), 0.5);
    assert!(!load(Role::Sender).limits() && !load(Role::Receiver).limits());
    let full = WireLoad {
        busy: 0.9,
        ..load(Role::Receiver)
    };
    assert!(full.limits());
    // Without kernel threads that receive, soft interrupts are no wire.
    for sample in &mut run.receiver.samples {
        let threads = &mut sample.threads;
        threads.retain(|thread| thread.kind != ThreadKind::Napi);
    }
    assert_eq!(wire_load(&run.view(), Role::Receiver), None);
}

#[test]
fn where_the_receivers_threads_were_idle_its_stack_ran_on_the_sender() {
    let run = Run::on_own_cpus().threads([1490, 990], Some([10; 2]));
    // CPU 0: 1.5 s busy, 30 of 150 ticks soft interrupts; CPU 1: 1 s, 50 of 100.
    let ends = [Some(1.2 + 0.5), Some(0.5 + 0.3), None];
    run.assert_attributed(Method::SoftirqTicks, ends);
}

/// Soft interrupts of one kind: their number, how many were timed, and the mean of these in ns,
/// with a standard deviation of as much.
fn softirqs(cpu: u32, kind: &str, count: u64, timed: u64, mean_ns: u64) -> SoftirqTime {
    SoftirqTime {
        cpu,
        kind: kind.to_owned(),
        count,
        timed,
        sum_ns: timed * mean_ns,
        squares_ns2: timed * 2 * mean_ns * mean_ns,
    }
}

/// The sender times the soft interrupts of both CPUs: of the network 0.5 s on its own and 0.1 s on the
/// receiver's, and 0.1 s of timers on its own.
fn time_softirqs(run: &mut Run) {
    let before = softirqs(0, "NET_RX", 1000, 7, 500);
    let mut of_sender = softirqs(0, "NET_RX", 200_000, 4000, 2500);
    of_sender.count += before.count;
    of_sender.timed += before.timed;
    of_sender.sum_ns += before.sum_ns;
    of_sender.squares_ns2 += before.squares_ns2;
    run.sender.samples[0].softirqs = vec![before];
    run.sender.samples[1].softirqs = vec![
        of_sender,
        softirqs(0, "TIMER", 10_000, 200, 10_000),
        softirqs(1, "NET_RX", 20_000, 400, 5000),
    ];
}

/// Runs on CPUs of their own, whose soft interrupts the sender times.
fn timed() -> Run {
    let mut run = Run::on_own_cpus();
    time_softirqs(&mut run);
    run
}

#[test]
fn timed_soft_interrupts_replace_the_share_by_ticks() {
    let by_ticks = Run::on_own_cpus().attributed();
    assert_eq!(by_ticks.softirqs, Some(SoftirqMeans::Ticks));
    let run = timed();
    assert_eq!(run.attributed().softirqs, Some(SoftirqMeans::Timed));
    // CPU 0: 1.5 s busy; CPU 1: 1 s.
    run.assert_attributed(Method::OwnCpus, [1.5 - 0.5, 1.0 - 0.1, 0.6].map(Some));
    // The deviation of a mean is that of one ÷ √ of their number.
    let net = 0.5 / 4000f64.sqrt();
    run.assert_has("send_attribution_error_pct", 100.0 * net / 1.0);
    // The receiver's own samples have none: those of the sender are of the same machine.
    let mut samples = run.receiver.samples.iter();
    assert!(samples.all(|sample| sample.softirqs.is_empty()));
}

#[test]
fn what_tcp_postpones_is_charged_to_the_sender() {
    let mut run = timed();
    let postponed = softirqs(1, "TASKLET", 10_000, 200, 5000);
    run.sender.samples[1].softirqs.push(postponed);
    run.assert_attributed(Method::OwnCpus, [1.0, 0.9, 0.6].map(Some));
    run.conditions.workload = Workload::TcpStream;
    run.assert_attributed(Method::OwnCpus, [1.05, 0.85, 0.6].map(Some));
}

#[test]
fn kinds_of_which_few_were_timed_take_the_mean_of_others() {
    let mut run = timed();
    run.sender.samples[1].softirqs[2] = softirqs(1, "NET_RX", 20_000, 9, 100_000);
    let found = run.attributed();
    let mean_ns = (4000.0 * 2500.0 + 9.0 * 100_000.0) / 4009.0;
    assert_close(seconds(found.receiver), 1.0 - 20_000.0 * mean_ns / 1e9);
}

#[test]
fn ticks_are_used_where_too_few_were_timed_or_a_cpu_is_missing() {
    let means = |change: fn(&mut Vec<SoftirqTime>)| {
        let mut run = timed();
        run.sender.samples[0].softirqs.clear();
        change(&mut run.sender.samples[1].softirqs);
        run.attributed().softirqs
    };
    assert_eq!(means(|_| {}), Some(SoftirqMeans::Timed));
    assert_eq!(means(|all| all.truncate(2)), Some(SoftirqMeans::Ticks));
    assert_eq!(
        means(|all| all.iter_mut().for_each(|time| time.timed = 1)),
        Some(SoftirqMeans::Ticks)
    );
}

#[test]
fn timed_soft_interrupts_of_the_other_end_are_charged_to_it() {
    let mut run = Run::udp();
    time_softirqs(&mut run);
    assert_eq!(run.attributed().softirqs, Some(SoftirqMeans::Timed));
    let ends = [Some(1.5 - 0.5 + 0.1), Some(1.0 - 0.1 + 0.5), None];
    run.assert_attributed(Method::SoftirqTicks, ends);
}

#[test]
fn few_ticks_do_not_weaken_timed_runs() {
    let few = |timed: bool| {
        let mut run = Run::on_own_cpus();
        for end in run.ends() {
            end.samples[1].cpus = ticks(&[(4, 3, 150, 0), (3, 3, 150, 0)]);
        }
        if timed {
            time_softirqs(&mut run);
            run.sender.samples[1].softirqs[0].count = 20_000;
        }
        let marks = marks(&run.view());
        marks.iter().any(|(weak, _)| *weak == Weak::FewTicks)
    };
    assert!(few(false) && !few(true));
}

#[test]
fn a_busy_idle_baseline_leaves_no_figure_and_no_other_method() {
    // With 25 % some is left of its CPU, and less than its thread ran.
    for busy in [25, 90] {
        let own_cpus = Run::on_own_cpus().threads([600, 700], Some([300; 2]));
        let mut run = own_cpus.busy_before(busy);
        run.sender.idle = None;
        let reason = run.not_attributed();
        assert!(reason.contains("other programs used the receiver's CPU more before this test"));
        run.assert_lacks(&[
            "receive_service_demand_us_per_kib",
            "wire_service_demand_us_per_kib",
        ]);
    }
}

#[test]
fn receive_work_elsewhere_is_not_charged_by_own_cpus() {
    let mut run = Run::on_own_cpus();
    run.receiver.in_effect[0].actual = Some("0".to_owned());
    assert_eq!(run.attributed().method, Method::SoftirqTicks);
    run.assert_lacks(&["wire_service_demand_us_per_kib"]);
}

#[test]
fn idle_napi_threads_leave_the_split_to_the_ticks() {
    let run = Run::udp().threads([1450, 950], Some([30; 2]));
    // CPU 0 is the sender's: 1.5 s busy, 30 of 150 ticks softirq; CPU 1 is the receiver's: 1 s, 50
    // of 100.
    let ends = [Some(1.5 * 0.8 + 1.0 * 0.5), Some(1.0 * 0.5 + 1.5 * 0.2)];
    run.assert_attributed(Method::SoftirqTicks, [ends[0], ends[1], None]);
    let variance: f64 = 1.5 * 1.5 * 0.2 * 0.8 / 150.0 + 0.25 / 100.0;
    run.assert_has("send_attribution_error_pct", 100.0 * variance.sqrt() / 1.7);
}

#[test]
fn ticks_of_a_disturbed_run_are_blamed_on_nobody() {
    // The CPUs were busy for 2.5 s, the run's own threads for 1.2 s: other programs took 32 % of 4
    // s.
    let run = Run::udp().threads([600; 2], None);
    let reason = run.not_attributed();
    assert!(reason.contains("soft interrupts in no thread of the run, or other programs, took"));
    run.assert_lacks(&["send_service_demand_us_per_kib"]);
    assert!(run.figure("throughput_mbps").is_some());
}

/// As before Linux 6.8: the interface receives in kernel threads, and it is not known in which.
#[test]
fn napi_threads_that_nobody_sees_are_not_taken_for_soft_interrupts() {
    let mut run = Run::udp().threads([1500, 1000], None);
    run.napi_threaded = true;
    run.receiver.offloads.active.insert("rx-gro".into(), true);
    let reason = run.not_attributed();
    assert!(reason.contains("before 6.8") && reason.contains("napi = \"inline\""));
    assert_eq!(run.figure("receive_service_demand_us_per_kib"), None);
    // Without GRO a veth has no NAPI.
    run.receiver.offloads.active.insert("rx-gro".into(), false);
    assert_eq!(run.attributed().method, Method::SoftirqTicks);
}

#[test]
fn endpoints_without_attributed_cpu_time_have_no_service_demand_and_say_why() {
    let mut run = Run::udp();
    run.receiver.pinned_cpus = vec![0];
    assert!(run.not_attributed().contains("same CPU"));
    run.receiver.pinned_cpus = Vec::new();
    assert!(run.not_attributed().contains("not pinned"));
    for metric in METRICS.iter().filter(|metric| metric.attributed) {
        assert_eq!((metric.compute)(&run.view()), None, "{}", metric.name);
    }
    run.shared_cpus = false;
    run.sender.samples.clear();
    assert!(run.not_attributed().contains("could not be read"));
}

#[test]
fn ends_on_one_cpu_share_no_other() {
    let mut run = Run::udp();
    let shared = |run: &Run| Signals::of(&run.view()).shared_cpus;
    // CPU 0: 150 of 200 ticks neither idle nor iowait, CPU 1: 100 of 200.
    assert_close(shared(&run), (0.75 + 0.5) / 2.0);
    run.receiver.pinned_cpus = vec![0];
    assert_close(shared(&run), 0.75);
}

#[test]
fn netperf_divides_by_all_ticks_and_by_what_was_sent() {
    let mut run = Run::udp();
    // CPU 0: 160 of 200 ticks not idle (iowait counts as busy), CPU 1: 100 of 200.
    let expected = (100.0 * (0.8 + 0.5) / 2.0) * 10_000.0 * 2.0 / (200.0 * 1024.0 / 2.0);
    run.assert_has("netperf_receive_service_demand_us_per_kib", expected);
    // On a tickless kernel half of the work's ticks are missing: netperf sees 0.67 instead of 0.8.
    run.sender.samples[1].cpus[0].user -= 80;
    let expected = (100.0 * (80.0 / 120.0 + 0.5) / 2.0) * 10_000.0 * 2.0 / (200.0 * 1024.0 / 2.0);
    run.assert_has("netperf_send_service_demand_us_per_kib", expected);
    run.assert_has("sender_peak_cpu_pct", 75.0);
}

#[test]
fn what_was_not_measured_is_absent() {
    let mut run = Run::on_two_hosts();
    for end in run.ends() {
        end.samples.clear();
        end.window_end_ns = end.window_start_ns;
        end.counts = PhaseCounts::default();
        end.sequence = None;
    }
    for metric in METRICS.iter() {
        assert_eq!((metric.compute)(&run.view()), None, "{}", metric.name);
    }
}

#[test]
fn transactions_have_their_own_figures() {
    let mut run = Run::udp();
    run.conditions.workload = Workload::UdpRr;
    run.conditions.latency = true;
    run.sender.counts.measured = counts(1000, 2000);
    run.sender.counts.measured.unanswered = 250;
    run.receiver.counts.measured = counts(1200, 2000);
    // 500 times of 10 µs, 400 of 20, 90 of 30, 9 of 40, and the longest, of 41 in a bucket up
    // to 42.
    run.sender.latency = Some(Latency {
        sum_ns: 5_000_000 + 8_000_000 + 2_700_000 + 360_000 + 41_000,
        max_ns: 41_000,
        buckets: vec![
            (10_000, 500),
            (20_000, 400),
            (30_000, 90),
            (40_000, 9),
            (42_000, 1),
        ],
    });
    run.assert_has("transactions_per_second", 500.0);
    run.assert_has("requests_lost_pct", 20.0);
    run.assert_has("latency_mean_us", 16.101);
    run.assert_has("latency_p50_us", 10.0);
    run.assert_has("latency_p90_us", 20.0);
    run.assert_has("latency_p99_us", 30.0);
    run.assert_has("latency_p999_us", 40.0);
    run.assert_has("latency_max_us", 41.0);
    let ends = [run.attributed().sender, run.attributed().receiver].map(Option::unwrap);
    let cost = |end: CpuUse, count: f64| end.cpus * 2e6 / count;
    let name = |end: &str| format!("{end}_service_demand_us_per_transaction");
    run.assert_has(&name("send"), cost(ends[0], 1000.0));
    run.assert_has(&name("receive"), cost(ends[1], 1200.0));
    run.assert_lacks(&["receive_calls_per_second"]);
    run.conditions.workload = Workload::UdpStream;
    run.sender.latency = None;
    run.assert_lacks(&[
        "transactions_per_second",
        "latency_mean_us",
        "latency_p50_us",
        "latency_max_us",
    ]);
}

#[test]
fn switches_calls_and_segments_are_told_per_message() {
    Run::udp().assert_lacks(&["receiver_wakeups_per_message"]);
    // 102 400 messages per second handed over, 76 800 received.
    let mut run = Run::udp().threads([1000; 2], None);
    for end in run.ends() {
        let grown = [(10, 20), (10 + 15_360, 20 + 5_120)];
        for (sample, (voluntary, involuntary)) in end.samples.iter_mut().zip(grown) {
            sample.threads[0].switches = Some(Switches {
                voluntary,
                involuntary,
            });
        }
    }
    run.assert_has("sender_wakeups_per_message", 0.075);
    run.assert_has("receiver_wakeups_per_message", 0.1);
    run.sender.counts.measured.failed_calls = run.sender.counts.measured.calls;
    run.assert_has("failed_sends_pct", 50.0);
    let arrivals = Arrivals {
        reordered: 2048,
        duplicated: 1024,
        late: 512,
        after_window: 4096,
    };
    run.receiver.sequence.as_mut().expect("datagrams").measured = Some(arrivals);
    run.assert_has("reordered_pct", 1.0);
    run.assert_has("duplicated_pct", 0.5);
    run.assert_has("late_pct", 0.25);
    run.assert_lacks(&["segments_per_message"]);
}

#[test]
fn segments_of_a_stream_are_those_between_the_samples() {
    let mut run = Run::tcp();
    // A receiver of a stream sees no messages.
    run.receiver.counts.measured.messages = 0;
    for end in run.ends() {
        for (sample, count) in end.samples.iter_mut().zip([u32::MAX - 9, 409_590]) {
            sample.tcp_info = Some(TcpInfo {
                data_segs_out: Some(count),
                data_segs_in: Some(count),
                ..TcpInfo::default()
            });
        }
    }
    run.assert_has("segments_per_message", 2.0);
    // More segments than 32 bits count.
    run.sender.tcp_info = Some(TcpInfo {
        snd_mss_bytes: Some(1448),
        bytes_sent: Some(1448 << 32),
        ..TcpInfo::default()
    });
    run.assert_lacks(&["segments_per_message"]);
}

/// A stream of which each endpoint's counters grew by these: those of the connections (segments,
/// data segments) and those of the namespace.
fn packaged() -> Run {
    let mut run = Run::tcp();
    for end in run.ends() {
        let is_sender = end.role == Role::Sender;
        for (sample, grown) in end.samples.iter_mut().zip([0, 1]) {
            // 10 segments that carry no data: acknowledgements of a handful of bytes.
            let segments = |count: u32| Some((u32::MAX - 99).wrapping_add(grown * count));
            sample.tcp_info = Some(TcpInfo {
                segs_out: segments(40_010),
                data_segs_out: segments(40_000),
                segs_in: segments(40_010),
                data_segs_in: segments(40_000),
                ..TcpInfo::default()
            });
            let counted = |count: u32| i64::from(7 + grown * count);
            let counters = [
                ("Tcp.OutSegs", 40_010),
                ("Udp.OutDatagrams", 0),
                ("Ip.OutRequests", 1_010),
                ("Ip6.OutRequests", 0),
                ("Tcp.InSegs", 2_010),
                ("IpExt.InNoECTPkts", 40_000),
                ("IpExt.InCEPkts", 10),
                ("Ip.InDelivers", 2_010),
                ("Ip.ReasmOKs", 0),
            ];
            sample.protocols = counters
                .into_iter()
                .map(|(name, count)| (name.to_owned(), counted(count)))
                .collect();
            sample.interfaces = vec![Interface {
                tx_packets: 3 + u64::from(grown) * if is_sender { 40_010 } else { 1 },
                ..Interface::default()
            }];
        }
    }
    run
}

#[test]
fn segments_per_packet_count_a_super_packet_once() {
    let run = packaged();
    run.assert_has("sender_segments_per_packet", 40.0);
    run.assert_has("receiver_segments_per_packet", 20.0);
    run.assert_has("sender_interface_segments_per_packet", 1.0);
}

#[test]
fn bytes_per_packet_and_limits_are_those_of_the_connection() {
    let mut run = packaged();
    run.sender.tcp_info = Some(TcpInfo {
        bytes_sent: Some(10_000),
        data_segs_out: Some(10),
        ..TcpInfo::default()
    });
    run.assert_has("sender_bytes_per_packet", 40_000.0);
    run.assert_has("receiver_bytes_per_packet", 20_000.0);
    // The interface makes other packets than the stack, so that the whole run counts.
    run.assert_has("full_packets_pct", 100.0);
    assert_eq!(run.figure("receive_window_limited_pct"), None);
    for (sample, grown) in run.sender.samples.iter_mut().zip([0, 1]) {
        let info = sample.tcp_info.as_mut().expect("set above");
        info.busy_time_us = Some(5000 + grown * 100_000);
        info.rwnd_limited_us = Some(7 + grown * 60_000);
    }
    run.assert_has("receive_window_limited_pct", 60.0);
}

#[test]
fn silent_time_has_no_full_packets() {
    let mut run = packaged();
    let samples = &mut run.sender.samples;
    samples[1].interfaces[0].tx_packets = 3 + 1_010;
    samples[1].counts.bytes = 64 * MIB;
    let silent = Sample {
        at_ns: 9_000_000_000,
        ..samples[1].clone()
    };
    samples.push(silent);
    run.assert_has("full_packets_pct", 50.0);
}

#[test]
fn drops_at_the_loopback_of_one_host_count_once() {
    let mut run = Run::tcp();
    for end in run.ends() {
        let last = &mut end.samples[1];
        last.interfaces = vec![Interface {
            device: "lo".to_owned(),
            ..Interface::default()
        }];
        last.queues = vec![Queue {
            device: "lo".to_owned(),
            kind: "netem".to_owned(),
            drops: 7,
            ..Queue::default()
        }];
    }
    run.assert_has("queue_dropped_packets", 7.0);
    run.shared_cpus = false;
    run.assert_has("queue_dropped_packets", 14.0);
}

#[test]
fn segments_per_packet_are_absent_where_others_share_the_counters() {
    let names = [
        "sender_segments_per_packet",
        "sender_interface_segments_per_packet",
        "receiver_segments_per_packet",
    ];
    let grow = |end: &mut EndpointRecord, name: &str, more: i64| {
        *end.samples[1].protocols.get_mut(name).unwrap() += more;
    };
    let mut run = packaged();
    // 1 % of the segments, which is more than 10 % of the packets.
    grow(&mut run.sender, "Tcp.OutSegs", 400);
    grow(&mut run.receiver, "IpExt.InNoECTPkts", 400);
    assert!(names.iter().all(|name| run.figure(name).is_some()));
    grow(&mut run.sender, "Udp.OutDatagrams", 5);
    grow(&mut run.receiver, "IpExt.InNoECTPkts", 5);
    assert_eq!(run.figure(names[0]), None);
    assert!(run.figure(names[1]).is_some(), "40 times as many packets");
    assert_eq!(run.figure(names[2]), None);
    let mut without = packaged();
    for end in without.ends() {
        end.samples.iter_mut().for_each(|sample| {
            sample.protocols.clear();
            sample.interfaces.clear();
        });
    }
    assert!(names.iter().all(|name| without.figure(name).is_none()));
    let mut connecting = packaged();
    connecting.conditions.workload = Workload::TcpCrr;
    assert!(names.iter().all(|name| connecting.figure(name).is_none()));
}

#[test]
fn datagrams_per_packet_are_those_that_were_handed_over_and_delivered() {
    let mut run = packaged();
    run.conditions.workload = Workload::UdpStream;
    let grow = |end: &mut EndpointRecord, name: &str, to: i64| {
        end.samples[1].protocols.insert(name.to_owned(), 7 + to);
    };
    for end in run.ends() {
        grow(end, "Tcp.OutSegs", 0);
        grow(end, "Tcp.InSegs", 0);
        grow(end, "Ip.OutRequests", 102_400);
        grow(end, "Ip.InDelivers", 10_000);
    }
    run.assert_has("sender_segments_per_packet", 2.0);
    run.assert_has("receiver_segments_per_packet", 4.001);
    assert_eq!(run.figure("sender_interface_segments_per_packet"), None);
    grow(&mut run.receiver, "Ip.ReasmOKs", 1);
    assert_eq!(run.figure("receiver_segments_per_packet"), None);
}

#[test]
fn what_else_ran_is_told() {
    Run::udp().assert_lacks(&["other_cpu_pct"]);
    let mut run = Run::udp().threads([1000; 2], Some([1150; 2]));
    // 2.15 s at each endpoint; the busy time of 2.5 s counts twice on two hosts, and once on a host
    // that both share.
    run.shared_cpus = false;
    run.assert_has("other_cpu_pct", 100.0 * 0.35 / 4.0);
    assert_eq!(disturbance(&run.view()), None);
    run.sender.samples[1].threads.pop();
    run.sender.samples[0].threads.pop();
    let found = disturbance(&run.view());
    assert!(matches!(found, Some(Disturbance::Unexplained { .. })));
    assert_close(
        found.map(|disturbance| disturbance.pct()),
        100.0 * 0.925 / 4.0,
    );
    run.sender.in_effect.extend([
        in_effect("stress", "2 cpu 100% on 0"),
        in_effect("stress_load_percent", "48.0"),
    ]);
    assert_eq!(disturbance(&run.view()), None);
}

/// Clocks of other programs over 2.5 s: `burn` used this many ms, others 10 ms.
fn burning(ms: u64) -> Option<ForeignLoad> {
    let ns = |ms: u64| ms * 1_000_000;
    let window = [4_700_000_000, 7_200_000_000];
    Some(foreign(window, ns(ms + 10), "burn\u{1b}", ns(ms)))
}

#[test]
fn only_the_time_of_others_disturbs_where_their_clocks_are_known() {
    // Most of the busy time is in no thread of the run: its own soft interrupts.
    let mut run = Run::udp().threads([300; 2], None);
    assert!(disturbance(&run.view()).is_some());
    run.sender.foreign = burning(0);
    assert_eq!(disturbance(&run.view()), None);
    run.assert_has("foreign_cpu_pct", 0.4);
    assert!(attribute(&run.view()).is_ok());
    // 5 % of a CPU in another program.
    run.sender.foreign = burning(125);
    let found = disturbance(&run.view()).expect("disturbed").to_string();
    assert_eq!(
        found,
        "other programs took 5 % of a CPU, most of it burn\u{fffd} (5 %)"
    );
    // That is 2.7 % of the two CPUs, which ticks may charge to the run.
    assert!(attribute(&run.view()).is_ok());
    run.sender.foreign = burning(600);
    let reason = run.not_attributed();
    assert!(reason.contains("something else took 12 % of the CPUs' time"));
    // On two hosts the clocks of both must be known.
    run.shared_cpus = false;
    let is_of_programs =
        |run: &Run| matches!(disturbance(&run.view()), Some(Disturbance::Programs { .. }));
    assert!(!is_of_programs(&run));
    run.receiver.foreign = burning(0);
    assert!(is_of_programs(&run));
    // Those of an iperf3 server's host never are.
    run.receiver.foreign = None;
    run.receiver.iperf3 = Some(Iperf3Peer::default());
    assert!(is_of_programs(&run));
}

#[test]
fn time_that_the_hypervisor_took_is_a_figure_and_no_disturbance() {
    let mut run = Run::udp();
    run.sender.foreign = burning(0);
    run.sender.samples[1].cpus[1].steal = 40;
    run.assert_has("stolen_cpu_pct", 20.0);
    assert_eq!(disturbance(&run.view()), None);
}

#[test]
fn delay_variation_has_its_figures() {
    let mut run = Run::udp();
    // 500 times of 10 µs, 490 of 20, 9 of 30, one of 41 in a bucket up to 42.
    let times = Latency {
        sum_ns: 5_000_000 + 9_800_000 + 270_000 + 41_000,
        max_ns: 41_000,
        buckets: vec![(10_000, 500), (20_000, 490), (30_000, 9), (42_000, 1)],
    };
    run.receiver.flows = vec![FlowRecord {
        delay_variation: Some(DelayVariation {
            differences: times,
            jitter_ns: 7500,
        }),
        ..FlowRecord::default()
    }];
    run.assert_has("delay_variation_mean_us", 15.111);
    run.assert_has("delay_variation_p99_us", 20.0);
    run.assert_has("jitter_us", 7.5);
    assert_eq!(run.figure("latency_p50_us"), None);
}

#[test]
fn pacing_is_told_with_its_error_and_its_cost() {
    let mut run = Run::udp();
    assert_eq!(run.figure("rate_error_pct"), None);
    // 102 400 messages per second by two flows for which 50 000 each were requested.
    run.conditions.message_rate = Some(50_000);
    let flow = |cpu_ns| FlowRecord {
        pacing: Some(Pacing {
            burst_messages: 5,
            bursts: 11,
            elapsed_ns: 2_000_000_000,
            cpu_ns,
        }),
        ..FlowRecord::default()
    };
    run.sender.flows = vec![flow(20_000_000), flow(40_000_000)];
    run.assert_has("rate_error_pct", 2.4);
    run.assert_has("pacing_cpu_pct", 3.0);
}
