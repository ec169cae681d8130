//! Signals of each limiter, and the verdict that follows.

use bitcost_analysis::explain::{
    Behind, Confidence, EndTimes, Hop, LIMITERS, Loss, PacketCost, Signals, Tcp, Transactions,
    decide,
};
use bitcost_model::constants::WakeUp;
use bitcost_stats::Interval;

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
        interface: 0.0,
    })
}

fn hop(name: &str, drops: f64) -> Vec<Hop> {
    vec![Hop {
        name: name.into(),
        kind: "tbf".into(),
        drops,
        missed: 0.0,
        packets: 1e5,
        passed_bps: 1e9,
        rate_bps: None,
    }]
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

/// Datagrams of which a tenth was lost.
fn lossy() -> Signals {
    let loss = Loss {
        lost: 1000.0,
        pct: 10.0,
        socket: Some(0.0),
        softnet: Some(0.0),
        ..Loss::default()
    };
    Signals {
        is_tcp: false,
        loss: Some(loss),
        ..calm()
    }
}

/// A sender that is blocked for most of its time, on a path with a queue.
fn sender_that_waits_on_a_queue() -> Signals {
    let tcp = Tcp {
        queueing: Some(2.0),
        ..Tcp::default()
    };
    Signals {
        sender: times(0.2, 0.0, 0.0),
        tcp,
        ..calm()
    }
}

fn named(signals: &Signals) -> String {
    decide(signals).limiter().to_string()
}

#[test]
fn the_ends_are_told_by_where_their_time_goes() {
    let sender = Signals {
        sender: times(0.98, 0.0, 0.0),
        receiver: times(0.4, 0.0, 0.0),
        ..calm()
    };
    let verdict = decide(&sender);
    assert_eq!(
        (verdict.limiter().to_string().as_str(), verdict.confidence),
        ("sender's CPU", Confidence::Likely)
    );
    let packets = Signals {
        cost: cost(0.02),
        is_tcp: false,
        ..sender.clone()
    };
    assert_eq!(named(&packets), "packets per second");
    let segments = |packets_per_segment| {
        let tcp = Tcp {
            packets_per_segment,
            ..Tcp::default()
        };
        named(&Signals {
            cost: cost(0.02),
            tcp,
            ..sender.clone()
        })
    };
    assert_eq!(segments(Some(1.01)), "packets per second");
    assert_eq!(
        [segments(Some(0.1)), segments(None)],
        ["sender's CPU", "sender's CPU"]
    );
    let contended = Signals {
        sender: times(0.5, 0.48, 0.0),
        behind: [Some(Behind::Programs), None],
        ..sender.clone()
    };
    let verdict = decide(&contended);
    assert_eq!(verdict.limiter().to_string(), "sender's CPU");
    assert_eq!(verdict.chosen.detail, "other programs take its CPU");
    assert!(verdict.remedy().starts_with("stop or move"));
    let receiver = Signals {
        sender: times(0.3, 0.0, 0.0),
        receiver: times(0.97, 0.0, 0.0),
        ..calm()
    };
    assert_eq!(named(&receiver), "receiver's CPU");
    let by_its_interface = |interface| {
        let receiver = times(0.3, 0.0, 0.0).map(|times| EndTimes { interface, ..times });
        named(&Signals {
            receiver,
            ..sender_that_waits_on_a_queue()
        })
    };
    assert_eq!(
        [by_its_interface(0.76), by_its_interface(0.74)],
        ["receiver's CPU", "link or shaper rate on the path"]
    );
    let reader = Signals {
        sender: times(0.1, 0.0, 0.0),
        receiver: times(0.2, 0.0, 0.78),
        ..calm()
    };
    assert_eq!(named(&reader), "reader too slow");
    let paced = Signals {
        sender: times(0.2, 0.0, 0.78),
        receiver: times(0.2, 0.0, 0.0),
        rate_kept: Some(0.99),
        ..calm()
    };
    assert_eq!(named(&paced), "application pacing");
    let held = Signals {
        throttled: [Some(0.6), Some(0.0)],
        ..sender
    };
    assert_eq!(named(&held), "CPU quota of the sender");
}

#[test]
fn a_thread_that_waits_while_nothing_else_runs_is_held_back() {
    let held = |held, receiver| Signals {
        sender: times(0.2, 0.0, 0.0),
        receiver,
        held: [Some(0.0), Some(held)],
        ..calm()
    };
    let verdict = decide(&held(0.68, times(0.1, 0.8, 0.0)));
    assert_eq!(verdict.limiter().to_string(), "CPU quota of the receiver");
    assert!(verdict.remedy().contains("CPUQuota="), "{verdict:?}");
    // Others had the CPU for most of that time, or it had time left.
    assert_eq!(named(&held(0.1, times(0.1, 0.8, 0.0))), "receiver's CPU");
    assert_eq!(named(&held(0.3, times(0.1, 0.4, 0.0))), "unknown");
    let changing = Signals {
        trend: Some(3.0),
        ..held(0.68, times(0.1, 0.8, 0.0))
    };
    assert_eq!(named(&changing), "CPU quota of the receiver");
}

#[test]
fn a_full_window_that_does_not_grow_is_held() {
    let window = |cwnd_spread, cwnd_filled| {
        let tcp = Tcp {
            cwnd_segments: Some(10.0),
            cwnd_spread: Some(cwnd_spread),
            cwnd_filled: Some(cwnd_filled),
            grows_when_full: Some(true),
            // Its round-trip time is mostly that of waking the endpoints.
            queueing: Some(40.0),
            ..Tcp::default()
        };
        Signals { tcp, ..calm() }
    };
    let verdict = decide(&window(1.0, 0.6));
    assert_eq!(verdict.limiter().name(), "congestion_window_clamp");
    assert_eq!(verdict.chosen.detail, "10 segments");
    // Small windows cost the sender CPU time.
    let busy = Signals {
        sender: times(0.79, 0.04, 0.0),
        ..window(1.0, 0.6)
    };
    assert_eq!(named(&busy), named(&window(1.0, 0.6)));
    assert_eq!(named(&window(1.3, 0.6)), "link or shaper rate on the path");
    assert_eq!(named(&window(1.0, 0.1)), "link or shaper rate on the path");
    // A congestion control may hold its own window without loss.
    let mut own = window(1.0, 0.6);
    own.tcp.grows_when_full = Some(false);
    assert_eq!(named(&own), "link or shaper rate on the path");
}

#[test]
fn cpus_that_both_ends_share_are_named_by_the_end_that_sleeps_less() {
    let tcp = Tcp {
        queueing: Some(4.0),
        rwnd_limited: Some(0.9),
        ..Tcp::default()
    };
    let full = Signals {
        sender: times(0.42, 0.19, 0.0),
        receiver: times(0.48, 0.22, 0.0),
        tcp,
        ..calm()
    };
    let full = Signals {
        shared_cpus: Some(0.85),
        ..full
    };
    let verdict = decide(&full);
    assert_eq!(verdict.limiter().to_string(), "receiver's CPU");
    assert!(
        verdict
            .chosen
            .detail
            .contains("both ends run on the same CPUs")
    );
    let apart = Signals {
        shared_cpus: None,
        ..full
    };
    assert_eq!(named(&apart), "receive buffer (receive window)");
    let both_wait = Signals {
        sender: times(0.25, 0.15, 0.0),
        receiver: times(0.27, 0.16, 0.0),
        shared_cpus: Some(0.85),
        ..apart
    };
    assert_eq!(named(&both_wait), "receive buffer (receive window)");
}

#[test]
fn buffers_and_windows_are_told_by_the_connection() {
    let blocked = || Signals {
        sender: times(0.05, 0.0, 0.0),
        receiver: times(0.1, 0.0, 0.0),
        ..calm()
    };
    let with = |tcp: Tcp| named(&Signals { tcp, ..blocked() });
    assert_eq!(
        with(Tcp {
            rwnd_limited: Some(0.9),
            ..Tcp::default()
        }),
        "receive buffer (receive window)"
    );
    assert_eq!(
        with(Tcp {
            sndbuf_limited: Some(0.9),
            rwnd_limited: Some(0.3),
            ..Tcp::default()
        }),
        "send buffer"
    );
    let losing = Tcp {
        retransmitted: Some(0.01),
        retransmits: Some(100.0),
        queueing: Some(1.05),
        cwnd_use: Some(1.0),
        ..Tcp::default()
    };
    assert_eq!(with(losing), "congestion window (loss)");
    let dropped = Signals {
        tcp: losing,
        hops: hop("s1 s1-eth2", 90.0),
        ..blocked()
    };
    assert_eq!(named(&dropped), "queue overflow at s1 s1-eth2");
    assert_eq!(
        with(Tcp {
            queueing: Some(4.0),
            ..Tcp::default()
        }),
        "link or shaper rate on the path"
    );
}

#[test]
fn losses_of_datagrams_are_told_by_who_counts_them() {
    assert_eq!(named(&lossy()), "path loss");
    // A policer's bucket empties.
    let changing = decide(&Signals {
        trend: Some(0.4),
        ..lossy()
    });
    assert_eq!(changing.limiter().name(), "path_loss");
    let at_hop = Signals {
        hops: hop("w1 w1-eth2", 950.0),
        ..lossy()
    };
    assert_eq!(named(&at_hop), "queue overflow at w1 w1-eth2");
    let unread = |missed| {
        let mut signals = Signals {
            hops: hop("s1-eth2", 0.0),
            ..lossy()
        };
        signals.hops[0].missed = missed;
        signals
    };
    assert_eq!(named(&unread(900.0)), "link emulator's ring at s1-eth2");
    assert_eq!(named(&unread(90.0)), "path loss");
    let loss = Loss {
        lost: 1000.0,
        pct: 10.0,
        socket: Some(1000.0),
        softnet: Some(0.0),
        ..Loss::default()
    };
    let at_socket = Signals {
        loss: Some(loss),
        ..lossy()
    };
    assert_eq!(named(&at_socket), "UDP receive buffer overflow");
    let busy = Signals {
        receiver: times(0.99, 0.0, 0.0),
        ..at_socket.clone()
    };
    assert_eq!(named(&busy), "receiver's CPU");
    let waiting = Signals {
        receiver: times(0.4, 0.55, 0.0),
        ..at_socket.clone()
    };
    let both = Signals {
        sender: times(0.9, 0.0, 0.0),
        ..waiting
    };
    let verdict = decide(&both);
    assert_eq!(verdict.limiter().to_string(), "receiver's CPU");
    assert_eq!(verdict.suspects[0].limiter.name(), "udp_receive_buffer");
    let blocked = Signals {
        receiver: times(0.1, 0.0, 0.88),
        ..at_socket
    };
    assert_eq!(named(&blocked), "reader too slow");
    let little = Signals {
        loss: Some(Loss { pct: 0.5, ..loss }),
        sender: times(0.99, 0.0, 0.0),
        ..lossy()
    };
    assert_eq!(named(&little), "sender's CPU");
}

#[test]
fn a_queue_that_passes_its_whole_rate_limits_however_the_sender_spends_its_time() {
    let bucket = |passed_bps| Signals {
        is_tcp: false,
        sender: times(0.99, 0.0, 0.0),
        hops: vec![Hop {
            passed_bps,
            rate_bps: Some(5e8),
            ..hop("sender h1-eth0", 0.0).remove(0)
        }],
        ..calm()
    };
    let full = decide(&bucket(4.99e8));
    assert_eq!(
        full.limiter().to_string(),
        "link or shaper rate at sender h1-eth0"
    );
    // The sender is on a CPU all the time, too.
    assert_eq!(full.suspects[0].limiter.name(), "sender_cpu");
    let half_full = decide(&bucket(2.5e8));
    assert_eq!(half_full.limiter().name(), "sender_cpu");
    let not_quite = decide(&bucket(4.8e8));
    assert_eq!(not_quite.limiter().name(), "sender_cpu");
    let asked = Signals {
        rate_kept: Some(1.0),
        ..bucket(4.9e8)
    };
    assert_eq!(named(&asked), "application pacing");
    let loss = Loss {
        lost: 1000.0,
        pct: 6.0,
        socket: Some(1000.0),
        softnet: Some(0.0),
        ..Loss::default()
    };
    let losing = decide(&Signals {
        loss: Some(loss),
        ..bucket(4.99e8)
    });
    assert_eq!(losing.limiter().name(), "rate");
    assert_eq!(losing.suspects[0].limiter.name(), "udp_receive_buffer");
    let half_full = Signals {
        loss: Some(loss),
        ..bucket(2.5e8)
    };
    assert_eq!(named(&half_full), "UDP receive buffer overflow");
}

#[test]
fn a_queue_that_is_never_empty_is_a_rate() {
    let queueing = |queueing: f64| Signals {
        sender: times(0.1, 0.0, 0.0),
        receiver: times(0.1, 0.0, 0.0),
        hops: hop("s1 s1-eth2", 900.0),
        tcp: Tcp {
            retransmitted: Some(0.01),
            retransmits: Some(1000.0),
            segments: Some(100_000.0),
            queueing: Some(queueing),
            ..Tcp::default()
        },
        ..calm()
    };
    assert_eq!(named(&queueing(1.2)), "queue overflow at s1 s1-eth2");
    assert_eq!(named(&queueing(2.0)), "link or shaper rate at s1 s1-eth2");
}

/// A request and its response take 66 µs, of which the client works 4.
fn requests() -> Transactions {
    Transactions {
        each_ns: 66_000.0,
        flows: 1.0,
        wakeups: Some(1.8),
        wake: None,
        connects: false,
        busy_polls: false,
        same_cpus: false,
        bytes: 1,
        rtt_ns: Some(40_000.0),
    }
}

fn transactional(transactions: Transactions) -> Signals {
    Signals {
        sender: times(0.06, 0.0, 0.0),
        receiver: times(0.06, 0.0, 0.0),
        transactions: Some(transactions),
        ..calm()
    }
}

#[test]
fn requests_that_begin_at_a_rate_are_paced_where_it_is_kept() {
    let open_loop = |kept| Signals {
        rate_kept: Some(kept),
        ..transactional(requests())
    };
    let verdict = decide(&open_loop(0.999));
    assert_eq!(verdict.limiter().name(), "application_pacing");
    assert!(verdict.remedy().contains("--transaction-rate"));
    assert_eq!(named(&open_loop(0.5)), "latency");
}

#[test]
fn requests_wait_for_answers_or_for_woken_threads() {
    let verdict = decide(&transactional(requests()));
    assert_eq!(verdict.limiter().name(), "latency");
    assert_eq!(
        verdict.chosen.detail,
        "one request at a time; 62 of 66 µs are waiting"
    );
    let several = transactional(Transactions {
        flows: 8.0,
        ..requests()
    });
    assert_eq!(
        decide(&several).chosen.detail,
        "one request at a time in each of 8 flows; 62 of 66 µs are waiting"
    );
    // 1 MiB at 90 Mbit/s on a path of 1 ms: no other flow would find more of that rate.
    let large = Transactions {
        each_ns: 93e6,
        bytes: 1 << 20,
        rtt_ns: Some(1e6),
        ..requests()
    };
    assert_eq!(named(&transactional(large)), "unknown");
    let far = Transactions {
        rtt_ns: Some(40e6),
        ..large
    };
    assert_eq!(named(&transactional(far)), "latency");
    // The answers became slower: the client still waits for them.
    let slower = Signals {
        trend: Some(0.46),
        ..transactional(requests())
    };
    let verdict = decide(&slower);
    assert_eq!(verdict.limiter().name(), "latency");
    let dear = Transactions {
        wake: Some(WakeUp {
            call_ns: 11_000.0,
            run_ns: 23_000.0,
        }),
        ..requests()
    };
    let verdict = decide(&transactional(dear));
    assert_eq!(verdict.limiter().name(), "wake_ups");
    assert_eq!(
        verdict.chosen.detail,
        "15 % of both CPUs' time is waking the other endpoint: 1.8 wake-ups per message × 11.0 µs; 23.0 µs until the woken thread runs"
    );
    let cheap = Transactions {
        wake: Some(WakeUp {
            call_ns: 1000.0,
            run_ns: 3000.0,
        }),
        ..requests()
    };
    assert_eq!(named(&transactional(cheap)), "latency");
}

#[test]
fn thin_evidence_is_unknown_and_says_what_was_closest() {
    let nearly = Signals {
        sender: times(0.7, 0.0, 0.0),
        ..calm()
    };
    let verdict = decide(&nearly);
    assert_eq!(
        (verdict.limiter().to_string().as_str(), verdict.confidence),
        ("unknown", Confidence::Unknown)
    );
    assert!(!verdict.suspects.is_empty(), "{verdict:?}");
    let changing = Signals {
        trend: Some(3.0),
        sender: times(0.99, 0.0, 0.0),
        ..calm()
    };
    let verdict = decide(&changing);
    assert_eq!(verdict.limiter().to_string(), "unknown");
    assert!(
        verdict
            .chosen
            .detail
            .contains("changed by a factor of 3.00")
    );
    assert_eq!(
        named(&Signals {
            sender: None,
            receiver: None,
            ..calm()
        }),
        "unknown"
    );
}

#[test]
fn the_table_of_limiters_is_the_one_of_the_method() {
    let limiters = LIMITERS.iter().filter(|row| !row.evidence.is_empty());
    let rows = limiters.map(|row| format!("| {} | {} |\n", row.title, row.evidence));
    let rows: String = rows.collect();
    let method = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/method/bottleneck.md"
    );
    let method = std::fs::read_to_string(method).expect("bottleneck.md");
    assert!(
        method.contains(&format!("| verdict | evidence |\n|---|---|\n{rows}\n")),
        "docs/method/bottleneck.md must have these rows:\n{rows}"
    );
}
