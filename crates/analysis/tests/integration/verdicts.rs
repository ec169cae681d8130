//! Signals of each limiter, and the verdict that follows.

use crate::common::{ENDS, Latency, Run, Workload, assert_close, counts, record, sample};
use bitcost_analysis::explain::{
    Behind, EndTimes, Foreign, Hop, LIMITERS, Loss, PacketCost, Restarts, Signals, Tcp,
    Transactions, Unheard, decide,
};
use bitcost_model::record::Role;
use bitcost_stats::Interval;
use insta::assert_snapshot;

/// A run without a clear limiter: both endpoints sleep half of their time.
fn calm() -> Signals {
    let half = EndTimes {
        cpu: 0.5,
        blocked: 0.5,
        ..EndTimes::default()
    };
    Signals {
        intervals: 12,
        seconds: 1.2,
        goodput_bps: Some(1e9),
        trend: Some(1.0),
        sender: Some(half),
        receiver: Some(half),
        is_tcp: true,
        ..Signals::default()
    }
}

/// The times of an endpoint: on a CPU, waiting for one, sleeping by its own choice; the rest is
/// blocked in its calls.
fn times(cpu: f64, wait: f64, slept: f64) -> Option<EndTimes> {
    Some(EndTimes {
        cpu,
        wait,
        slept,
        blocked: 1.0 - cpu - wait - slept,
        ..EndTimes::default()
    })
}

/// Both endpoints are on a CPU for these shares of the time, and blocked for the rest.
fn busy(of: &mut Signals, sender: f64, receiver: f64) {
    (of.sender, of.receiver) = (times(sender, 0.0, 0.0), times(receiver, 0.0, 0.0));
}

fn hop(name: &str, drops: f64) -> Hop {
    Hop {
        name: name.into(),
        is_own: name.starts_with("sender "),
        kind: "tbf".into(),
        drops,
        waiting: 0.0,
        packets: 1e5,
        passed_bps: 1e9,
        rate_bps: None,
    }
}

/// A cost of which this share grows with bytes.
fn cost(per_byte: f64) -> Option<PacketCost> {
    let fixed_ns = Interval {
        value: 1447.0,
        low: Some(1439.0),
        high: Some(1455.0),
    };
    Some(PacketCost { per_byte, fixed_ns })
}

/// This share of the datagrams was lost, and so many of them at the socket.
fn lose(of: &mut Signals, pct: f64, socket: f64) {
    of.is_tcp = false;
    of.loss = Some(Loss {
        lost: 1000.0,
        pct,
        socket: Some(socket),
        softnet: Some(0.0),
        ..Loss::default()
    });
}

/// What is changed in the run without a clear limiter, and the words for it.
type Case<'a> = (&'a str, &'a dyn Fn(&mut Signals));

/// The verdict on each case: its limiter with its detail, its confidence, and the other suspects.
fn verdicts(cases: &[Case]) -> String {
    let line = |(words, change): &Case| {
        let mut signals = calm();
        change(&mut signals);
        let verdict = decide(&signals);
        let suspects = verdict
            .suspects
            .iter()
            .map(|suspect| suspect.limiter.name());
        let lines = [
            format!("{words}: {}", verdict.limiter()),
            format!("  {:?}: {}", verdict.confidence, verdict.chosen.detail),
            format!("  suspects: {:?}", suspects.collect::<Vec<_>>()),
            format!("  remedy: {}\n", verdict.remedy()),
        ];
        lines.join("\n")
    };
    cases.iter().map(line).collect()
}

#[test]
fn the_ends_are_told_by_where_their_time_goes() {
    let sender = |of: &mut Signals| busy(of, 0.98, 0.4);
    let segments = |of: &mut Signals, packets_per_segment| {
        sender(of);
        of.cost = cost(0.02);
        of.tcp.packets_per_segment = packets_per_segment;
    };
    assert_snapshot!(verdicts(&[
        ("the sender is busy", &sender),
        ("by datagrams whose size costs nothing", &|of| {
            segments(of, None);
            of.is_tcp = false;
        }),
        ("by a packet for each segment", &|of| segments(
            of,
            Some(1.01)
        )),
        ("by ten segments a packet", &|of| segments(of, Some(0.1))),
        ("by segments nobody counted", &|of| segments(of, None)),
        ("programs take the sender's CPU", &|of| {
            (of.sender, of.receiver) = (times(0.5, 0.48, 0.0), times(0.4, 0.0, 0.0));
            of.behind = [Some(Behind::Programs), None];
        }),
        ("the receiver is busy", &|of| busy(of, 0.3, 0.97)),
        ("the reader sleeps", &|of| {
            (of.sender, of.receiver) = (times(0.1, 0.0, 0.0), times(0.2, 0.0, 0.78));
        }),
        ("the sender sleeps and keeps its rate", &|of| {
            (of.sender, of.receiver) = (times(0.2, 0.0, 0.78), times(0.2, 0.0, 0.0));
            of.rate_kept = Some(0.99);
        }),
        ("the sender is throttled", &|of| {
            (of.sender, of.receiver) = (times(0.38, 0.6, 0.0), times(0.4, 0.0, 0.0));
            of.throttled = [Some(0.6), Some(0.0)];
        }),
    ]));
}

#[test]
fn cpus_that_both_ends_share_are_named_by_the_end_that_sleeps_less() {
    let full = |of: &mut Signals, sender, receiver, shared| {
        (of.sender, of.receiver, of.shared_cpus) = (sender, receiver, shared);
        (of.tcp.queueing, of.tcp.rwnd_limited) = (Some(4.0), Some(0.9));
    };
    let more = (times(0.42, 0.19, 0.0), times(0.48, 0.22, 0.0));
    let less = (times(0.25, 0.15, 0.0), times(0.27, 0.16, 0.0));
    assert_snapshot!(verdicts(&[
        ("shared", &|of| full(of, more.0, more.1, Some(0.85))),
        ("pinned to one CPU", &|of| {
            full(of, more.0, more.1, Some(0.85));
            of.pinned_together = true;
        }),
        ("apart", &|of| full(of, more.0, more.1, None)),
        ("shared, both wait", &|of| full(
            of,
            less.0,
            less.1,
            Some(0.85)
        )),
    ]));
}

#[test]
fn buffers_and_windows_are_told_by_the_connection() {
    let losing = |of: &mut Signals| {
        busy(of, 0.05, 0.1);
        of.tcp = Tcp {
            halves: true,
            retransmitted: Some(0.01),
            retransmits: Some(100.0),
            queueing: Some(1.05),
            cwnd_use: Some(1.0),
            ..Tcp::default()
        };
    };
    assert_snapshot!(verdicts(&[
        ("limited by the receiver's window", &|of| {
            busy(of, 0.05, 0.1);
            of.tcp.rwnd_limited = Some(0.9);
        }),
        ("more limited by the send buffer", &|of| {
            busy(of, 0.05, 0.1);
            (of.tcp.sndbuf_limited, of.tcp.rwnd_limited) = (Some(0.9), Some(0.3));
        }),
        ("by a window that something keeps small", &|of| {
            busy(of, 0.05, 0.1);
            of.tcp.rwnd_limited = Some(0.9);
            of.tcp.window = Some(["no window scaling", "let it pass"]);
        }),
        (
            "by lost segments, without selective acknowledgements",
            &|of| {
                losing(of);
                (of.tcp.rwnd_limited, of.tcp.recovering) = (Some(0.9), Some(0.9));
                of.tcp.sack = Some(false);
            }
        ),
        ("loss that the receiver's TCP counted", &|of| {
            losing(of);
            of.tcp.thrown = Some(0.9);
        }),
        ("marked without a queue", &|of| {
            losing(of);
            of.tcp.answers_marks_by_half = true;
            (of.tcp.retransmitted, of.tcp.marked) = (None, Some(0.5));
        }),
        ("marked by a queue", &|of| {
            losing(of);
            of.tcp.answers_marks_by_half = true;
            (of.tcp.retransmitted, of.tcp.marked) = (None, Some(0.5));
            of.tcp.queueing = Some(3.0);
        }),
        ("little loss for a window of 110 segments", &|of| {
            losing(of);
            of.tcp.retransmitted = Some(0.0002);
            of.tcp.cwnd_segments = Some(110.0);
        }),
        ("too little for one of 50", &|of| {
            losing(of);
            of.tcp.retransmitted = Some(0.0002);
            of.tcp.cwnd_segments = Some(50.0);
        }),
        ("loss", &losing),
        ("loss that a queue counted", &|of| {
            losing(of);
            of.hops = vec![hop("s1 s1-eth2", 90.0)];
        }),
        ("queueing", &|of| {
            busy(of, 0.05, 0.1);
            of.tcp.queueing = Some(4.0);
        }),
    ]));
}

#[test]
fn other_traffic_is_told_by_what_leaves_the_interfaces() {
    let beside = |of: &mut Signals, sender, receiver, queueing| {
        busy(of, 0.05, 0.05);
        of.beside_bps = [Some(sender), Some(receiver)];
        (of.tcp.queueing, of.tcp.retransmitted) = (Some(queueing), Some(0.0));
        of.tcp.rtt_ms = Some(40.0);
    };
    let own = |of: &mut Signals, sender, passed_bps| {
        beside(of, sender, 0.0, 1.2);
        of.hops = vec![hop("sender eth0", 0.0)];
        (of.hops[0].passed_bps, of.hops[0].rate_bps) = (passed_bps, Some(5e9));
    };
    assert_snapshot!(verdicts(&[
        ("in the same full queue", &|of| own(of, 4e9, 4.99e9)),
        ("in a queue that is not full", &|of| own(of, 3e9, 4e9)),
        ("little in the same full queue", &|of| own(
            of, 0.5e9, 4.99e9
        )),
        ("behind the interface, with loss", &|of| {
            beside(of, 2e9, 0.0, 1.2);
            of.tcp.retransmitted = Some(0.01);
        }),
        ("behind the interface, with a queue", &|of| beside(
            of, 2e9, 0.0, 2.0
        )),
        ("before the acknowledgements", &|of| beside(
            of, 0.0, 3e9, 2.0
        )),
        ("before them, in a queue that was always full", &|of| {
            beside(of, 0.0, 3e9, 1.1);
            of.resent = [None, Some(0.05)];
        }),
        ("before them, without a queue", &|of| beside(
            of, 0.0, 3e9, 1.1
        )),
        ("before them, on a short path", &|of| {
            beside(of, 0.0, 3e9, 2.0);
            of.tcp.rtt_ms = Some(0.4);
        }),
        ("before them, as much as the run", &|of| beside(
            of, 0.0, 1e9, 2.0
        )),
    ]));
}

#[test]
fn losses_of_datagrams_are_told_by_who_counts_them() {
    let lossy = |of: &mut Signals, sender, receiver, socket| {
        lose(of, 10.0, socket);
        (of.sender, of.receiver) = (sender, receiver);
    };
    let half = times(0.5, 0.0, 0.0);
    assert_snapshot!(verdicts(&[
        ("nobody", &|of| lossy(of, half, half, 0.0)),
        ("nobody, and a policer's bucket empties", &|of| {
            lossy(of, half, half, 0.0);
            of.trend = Some(0.4);
        }),
        ("a queue", &|of| {
            lossy(of, half, half, 0.0);
            of.hops = vec![hop("w1 w1-eth2", 950.0)];
        }),
        ("a queue has few of them", &|of| {
            lossy(of, half, half, 0.0);
            of.hops = vec![hop("s1-eth2", 90.0)];
        }),
        ("the socket", &|of| lossy(of, half, half, 1000.0)),
        ("the socket of a busy receiver", &|of| {
            lossy(of, half, times(0.99, 0.0, 0.0), 1000.0);
        }),
        ("the socket of a receiver that waits for its CPU", &|of| {
            lossy(of, times(0.9, 0.0, 0.0), times(0.4, 0.55, 0.0), 1000.0);
        }),
        ("nobody, of bursts", &|of| {
            lossy(of, half, half, 0.0);
            of.loss.as_mut().expect("losses").burst = Some(178);
        }),
        ("the socket of a reader that sleeps", &|of| {
            lossy(of, half, times(0.1, 0.0, 0.88), 1000.0);
        }),
        ("nobody, but it is little", &|of| {
            lose(of, 0.5, 1000.0);
            of.sender = times(0.99, 0.0, 0.0);
        }),
    ]));
}

#[test]
fn a_queue_that_passes_its_whole_rate_limits_however_the_sender_spends_its_time() {
    let bucket = |of: &mut Signals, passed_bps| {
        of.is_tcp = false;
        of.sender = times(0.99, 0.0, 0.0);
        of.hops = vec![hop("sender h1-eth0", 0.0)];
        (of.hops[0].passed_bps, of.hops[0].rate_bps) = (passed_bps, Some(5e8));
    };
    let losing = |of: &mut Signals, passed_bps| {
        bucket(of, passed_bps);
        lose(of, 6.0, 1000.0);
    };
    assert_snapshot!(verdicts(&[
        ("the whole rate", &|of| bucket(of, 4.99e8)),
        ("half of it", &|of| bucket(of, 2.5e8)),
        ("not quite", &|of| bucket(of, 4.8e8)),
        ("what was asked for", &|of| {
            bucket(of, 4.9e8);
            of.rate_kept = Some(1.0);
        }),
        ("the whole rate, and the socket loses", &|of| {
            losing(of, 4.99e8);
        }),
        ("half of it, and the socket loses", &|of| losing(of, 2.5e8)),
    ]));
}

#[test]
fn a_rate_that_is_kept_is_that_of_a_queue_where_it_does_not_arrive() {
    let name = |arrived, beside_bps| {
        let mut of = calm();
        (of.is_tcp, of.hops) = (false, vec![hop("sender h1-eth0", 0.0)]);
        (of.hops[0].passed_bps, of.hops[0].rate_bps) = (4.9e8, Some(5e8));
        (of.rate_kept, of.arrived) = (Some(1.0), Some(arrived));
        (of.goodput_bps, of.beside_bps) = (Some(4.5e8), [Some(beside_bps), None]);
        decide(&of).limiter().name()
    };
    assert_eq!(name(0.9, 1e7), "rate");
    // As much less as by chance, and beside other traffic.
    assert_eq!(name(0.978, 1e7), "application_pacing");
    assert_eq!(name(0.9, 4.6e8), "application_pacing");
}

#[test]
fn a_quota_limits_an_end_that_waits_and_keeps_no_rate() {
    let name = |wait, kept| {
        let mut of = calm();
        (of.sender, of.throttled) = (times(0.3, wait, 0.0), [Some(3.0), None]);
        of.rate_kept = Some(kept);
        decide(&of).limiter().name()
    };
    assert_eq!(name(0.6, 0.5), "cpu_quota");
    assert_eq!(name(0.6, 1.0), "application_pacing");
    assert_ne!(name(0.0, 0.5), "cpu_quota");
}

#[test]
fn a_queue_that_is_never_empty_is_a_rate() {
    let queueing = |of: &mut Signals, queueing| {
        busy(of, 0.1, 0.1);
        of.hops = vec![hop("s1 s1-eth2", 900.0)];
        of.tcp = Tcp {
            halves: true,
            retransmitted: Some(0.01),
            retransmits: Some(1000.0),
            segments: Some(100_000.0),
            queueing: Some(queueing),
            ..Tcp::default()
        };
    };
    assert_snapshot!(verdicts(&[
        ("a fifth longer", &|of| queueing(of, 1.2)),
        ("twice as long", &|of| queueing(of, 2.0)),
    ]));
}

/// A request and its response take 66 µs, of which the client works 4, but for this.
fn requests(of: &mut Signals, change: impl FnOnce(&mut Transactions)) {
    busy(of, 0.06, 0.06);
    let mut transactions = Transactions {
        each_ns: 66_000.0,
        flows: 1.0,
        connects: false,
        busy_polls: false,
        bytes: 1,
        rtt_ns: Some(40_000.0),
        resending: None,
        is_short: true,
        restarts: None,
    };
    change(&mut transactions);
    of.transactions = Some(transactions);
}

#[test]
fn requests_are_paced_or_wait_for_answers_or_for_timers() {
    let large = |of: &mut Signals, rtt_ns| {
        requests(of, |each| {
            (each.each_ns, each.bytes, each.rtt_ns) = (93e6, 1 << 20, Some(rtt_ns));
        });
    };
    let paced = |of: &mut Signals, kept| {
        requests(of, |_| ());
        of.rate_kept = Some(kept);
    };
    let restarts = |of: &mut Signals, trips, resending| {
        paced(of, 1.0);
        let requests = of.transactions.as_mut().expect("requests");
        requests.resending = Some(resending);
        requests.restarts = Some(Restarts {
            trips,
            falls: 4.0,
            least: 10,
        });
    };
    assert_snapshot!(verdicts(&[
        ("at a rate that is kept", &|of| paced(of, 0.999)),
        ("at a rate that is not kept", &|of| paced(of, 0.5)),
        ("one at a time", &|of| requests(of, |_| ())),
        ("eight flows", &|of| requests(of, |each| each.flows = 8.0)),
        // 1 MiB at 90 Mbit/s: no other flow would find more of that rate.
        ("large, on a path of 1 ms", &|of| large(of, 1e6)),
        ("large, on a path of 40 ms", &|of| large(of, 40e6)),
        ("beside an upload that was always there", &|of| {
            requests(of, |_| ());
            of.beside_bps = [Some(2e9), Some(0.0)];
            (of.tcp.queueing, of.tcp.rtt_ms) = (Some(1.1), Some(90.0));
            of.resent = [Some(0.05), None];
        }),
        ("beside an upload", &|of| {
            requests(of, |_| ());
            of.beside_bps = [Some(2e9), Some(0.0)];
            (of.tcp.queueing, of.tcp.rtt_ms) = (Some(3.0), Some(90.0));
        }),
        ("at a kept rate, each with a new window", &|of| restarts(
            of, 3.0, 0.0
        )),
        ("in one round trip", &|of| restarts(of, 1.2, 0.0)),
        ("and lost", &|of| restarts(of, 3.0, 0.1)),
        ("that are lost", &|of| {
            requests(of, |each| each.resending = Some(0.5));
        }),
        ("whose answers became slower", &|of| {
            requests(of, |_| ());
            of.trend = Some(0.46);
        }),
    ]));
}

/// A host makes 30 connections in 10 s and sends nine segments again, five of which ask for a connection.
#[test]
fn connections_wait_for_timers_where_their_latencies_show_it() {
    let mut samples = [0, 10_000_000_000].map(|at_ns| sample(at_ns, Vec::new(), Vec::new()));
    for (sample, [all, asked]) in samples.iter_mut().zip([[3, 1], [12, 6]]) {
        let counters = [("Tcp.RetransSegs", all), ("TcpExt.TCPSynRetrans", asked)];
        sample.protocols = counters
            .map(|(name, count)| (name.to_owned(), count))
            .into();
    }
    let ends = ENDS.map(|role| record(role, counts(30, 0), samples.to_vec()));
    let mut run = Run::new(Workload::TcpConnect, ends);
    run.conditions.flows = 1;
    // Where none of them is slow, other programs sent these again.
    for (slow, share) in [(5, 0.58), (0, 0.0)] {
        run.sender.latency = Some(Latency {
            sum_ns: 30 * 12_000_000 + slow * 1_000_000_000,
            max_ns: 1_012_000_000,
            buckets: vec![(12_000_000, 30 - slow), (1_012_000_000, slow)],
        });
        let requests = Signals::of(&run.view()).transactions;
        assert_close(requests.and_then(|of| of.resending), share);
    }
}

#[test]
fn an_end_that_stands_still_is_named_where_the_transfer_waits_for_it() {
    // A path with a queue, whose sender is blocked for what is left of its time.
    let still = |of: &mut Signals, idle, stand: fn(&mut EndTimes)| {
        let mut sender = EndTimes {
            cpu: 0.05,
            ..EndTimes::default()
        };
        stand(&mut sender);
        sender.blocked = 0.95 - sender.paused - sender.disk;
        (of.sender, of.receiver) = (Some(sender), times(0.1, 0.0, 0.0));
        (of.idle, of.tcp.queueing) = (Some(idle), Some(4.0));
    };
    let receiver = |of: &mut Signals, closed| {
        still(of, 0.0, |sender| sender.paused = 0.8);
        (of.sender, of.receiver) = (times(0.1, 0.0, 0.0), of.sender);
        (of.tcp.rwnd_limited, of.tcp.queueing) = (Some(closed), Some(1.2));
    };
    let stopped = |times: &mut EndTimes| times.paused = 0.6;
    assert_snapshot!(verdicts(&[
        ("a stopped sender", &|of| still(of, 0.5, stopped)),
        ("its buffer keeps the path full", &|of| still(
            of, 0.02, stopped
        )),
        ("it keeps its rate", &|of| {
            still(of, 0.5, stopped);
            of.rate_kept = Some(0.99);
        }),
        ("a sender without memory", &|of| still(of, 0.5, |times| {
            times.disk = 0.6;
        })),
        ("a stopped receiver", &|of| receiver(of, 0.7)),
        ("its window stays open", &|of| receiver(of, 0.0)),
        ("and the sender has no time", &|of| {
            receiver(of, 0.0);
            of.sender = times(0.98, 0.0, 0.0);
        }),
        ("a server that is stopped", &|of| {
            requests(of, |_| ());
            of.receiver = times(0.1, 0.0, 0.0).map(|times| EndTimes {
                paused: 0.6,
                ..times
            });
        }),
        ("a receiver of datagrams that is stopped", &|of| {
            lose(of, 10.0, 1000.0);
            still(of, 0.5, stopped);
            (of.sender, of.receiver) = (of.receiver, of.sender);
        }),
    ]));
}

#[test]
fn packets_that_do_not_fit_the_path_are_told_by_what_becomes_of_them() {
    let unheard = |of: &mut Signals, retransmits| {
        busy(of, 0.0, 0.0);
        of.goodput_bps = None;
        of.packets.unheard = Some(Unheard {
            packet_bytes: 1500,
            acknowledged: 0.01,
            retransmits,
        });
    };
    let cut = |of: &mut Signals, packets| {
        busy(of, 0.3, 0.3);
        of.tcp.segments = Some(1000.0);
        of.packets.in_fragments = Some([packets, 2.0 * packets]);
    };
    assert_snapshot!(verdicts(&[
        ("full packets vanish", &|of| unheard(of, 4.0)),
        ("the path may be dead", &|of| unheard(of, 1.0)),
        ("all in two fragments", &|of| cut(of, 1000.0)),
        ("a few in fragments", &|of| cut(of, 20.0)),
    ]));
}

#[test]
fn one_end_of_another_programs_connections_tells_what_it_sees() {
    let sends = |of: &mut Signals, seen: fn(&mut Foreign)| {
        (of.sender, of.receiver) = (times(0.1, 0.0, 0.0), None);
        let mut foreign = Foreign {
            connections: 1,
            ..Foreign::default()
        };
        seen(&mut foreign);
        of.foreign = [Some(foreign), None];
    };
    let receives = |of: &mut Signals, seen: fn(&mut Foreign)| {
        sends(of, seen);
        (of.sender, of.receiver) = (None, of.sender);
        let role = Role::Receiver;
        of.foreign = [
            None,
            of.foreign[0].map(|foreign| Foreign { role, ..foreign }),
        ];
    };
    let piles_up = |of: &mut Signals| {
        receives(of, |end| {
            (end.unread, end.piles_up) = (Some(1.0), Some(1.0));
        });
    };
    assert_snapshot!(verdicts(&[
        ("nothing waits to be sent", &|of| {
            sends(of, |end| end.spare = Some(0.9));
        }),
        ("nothing waits, and a buffer limits", &|of| {
            sends(of, |end| end.spare = Some(0.9));
            of.tcp.sndbuf_limited = Some(0.6);
        }),
        ("nothing moved", &|of| {
            sends(of, |end| end.spare = Some(1.0));
            of.goodput_bps = None;
        }),
        ("small segments wait for an acknowledgement", &|of| {
            sends(of, |end| end.held = [Some(0.9), Some(0.0)]);
        }),
        ("corked", &|of| {
            sends(of, |end| end.held = [Some(0.0), Some(0.9)]);
        }),
        ("a window that closes", &|of| {
            sends(of, |end| end.dips = Some(0.01));
            of.tcp.rwnd_limited = Some(0.6);
        }),
        ("a window that stays", &|of| {
            sends(of, |end| end.dips = Some(0.9));
            of.tcp.rwnd_limited = Some(0.6);
        }),
        ("data wait for a program with time", &piles_up),
        ("data wait for a program without", &|of| {
            piles_up(of);
            of.receiver = times(0.95, 0.0, 0.0);
        }),
        ("a window that is full", &|of| {
            receives(of, |end| {
                (end.unread, end.window_use) = (Some(0.0), Some(0.9));
            });
        }),
        ("segments out of order", &|of| {
            receives(of, |end| end.out_of_order = Some(0.01));
        }),
        ("short of memory", &|of| {
            receives(of, |end| end.short_of_memory = Some(50.0));
        }),
        ("a rate that the program allows", &|of| {
            sends(of, |end| end.of_cap = Some(0.97));
        }),
        ("one request at a time", &|of| {
            sends(of, |end| {
                (end.spare, end.turns) = (Some(0.9), Some(1.0));
            });
        }),
        ("small writes", &|of| {
            sends(of, |end| end.write_bytes = Some(120.0));
            of.sender = times(0.98, 0.0, 0.0);
        }),
        ("a full queue of connections", &|of| {
            receives(of, |end| end.queue_full = Some(0.8));
        }),
        ("none lasts", &|of| {
            sends(of, |end| {
                (end.opened, end.connections) = (Some(200.0), 0);
            });
            of.goodput_bps = None;
        }),
        ("datagrams that a socket drops", &|of| {
            receives(of, |end| end.dropped = Some(0.2));
            of.is_tcp = false;
        }),
        (
            "datagrams dropped while the program waits for a CPU",
            &|of| {
                receives(of, |end| end.dropped = Some(0.2));
                of.receiver = times(0.4, 0.3, 0.0);
                of.is_tcp = false;
            }
        ),
        ("a queue of the host that is not empty", &|of| {
            sends(of, |end| end.queued = Some(0.9));
            of.hops = vec![hop("sender eth0", 0.0)];
        }),
        ("nothing waits, and the send buffer is full", &|of| {
            sends(of, |end| end.spare = Some(0.9));
            (of.tcp.unsent, of.tcp.buffer_use) = (Some(0.0), Some(0.98));
        }),
        ("asked, and nothing under way", &|of| {
            sends(of, |end| {
                (end.its_turn, end.listens) = (Some(0.9), true);
            });
        }),
        ("a window that grows since losses", &|of| {
            sends(of, |end| end.spare = Some(0.0));
            of.tcp.sent_again = Some(11.0);
            (of.tcp.halves, of.tcp.in_slow_start) = (true, Some(false));
            (of.tcp.cwnd_use, of.tcp.queueing) = (Some(0.95), Some(1.1));
        }),
        ("windows that begin again", &|of| {
            sends(of, |end| end.begins = Some(5.0));
            of.tcp.halves = true;
        }),
        ("bursts of datagrams", &|of| {
            sends(of, |end| {
                (end.is_empty, end.burst) = (Some(1.0), Some(178.0));
            });
            of.is_tcp = false;
        }),
        ("both ends: out of order, and sent again", &|of| {
            receives(of, |end| end.out_of_order = Some(0.01));
            of.foreign[0] = Some(Foreign {
                spare: Some(0.9),
                ..Foreign::default()
            });
            of.sender = times(0.1, 0.0, 0.0);
        }),
        ("datagrams that the host gives up", &|of| {
            receives(of, |end| end.given_up = Some(0.2));
            of.is_tcp = false;
        }),
    ]));
}

#[test]
fn thin_evidence_is_unknown_and_says_what_was_closest() {
    assert_snapshot!(verdicts(&[
        ("nearly busy", &|of| of.sender = times(0.7, 0.0, 0.0)),
        ("busy, and the rate changed", &|of| {
            (of.sender, of.trend) = (times(0.99, 0.0, 0.0), Some(3.0));
        }),
        ("no times", &|of| (of.sender, of.receiver) = (None, None)),
    ]));
}

#[test]
fn the_tables_of_limiters_are_those_of_the_method() {
    let pages = [
        ("of another program's", "connections.md"),
        ("of a card", "cards.md"),
        ("", "bottleneck.md"),
    ];
    for (_, page) in pages {
        let limiters = LIMITERS.iter().filter(|row| !row.evidence.is_empty());
        let limiters = limiters.filter(|row| {
            let mut pages = pages.iter();
            let own = pages.find(|(start, _)| row.evidence.starts_with(start));
            own.is_some_and(|(_, own)| *own == page)
        });
        let rows = limiters.map(|row| format!("| {} | {} |\n", row.title, row.evidence));
        let rows: String = rows.collect();
        let path = format!("{}/../../docs/method/{page}", env!("CARGO_MANIFEST_DIR"));
        let method = std::fs::read_to_string(path).expect(page);
        assert!(
            method.contains(&format!("| verdict | evidence |\n|---|---|\n{rows}\n")),
            "docs/method/{page} must have these rows:\n{rows}"
        );
    }
}
