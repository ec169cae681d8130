//! Signals of each limiter, and the verdict that follows.

use bitcost_analysis::explain::{
    Confidence, EndTimes, Hop, LIMITERS, Loss, PacketCost, Signals, Step, Tcp, Transactions, Unit,
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
        variation: Some(0.05),
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
        napi: 0.0,
    })
}

fn hop(name: &str, drops: f64, overlimits: f64, standing: f64) -> Vec<Hop> {
    vec![Hop {
        name: name.into(),
        kind: "tbf".into(),
        drops,
        missed: 0.0,
        overlimits,
        standing,
        packets: 1e5,
        passed_bps: 1e9,
        rate_bps: None,
        counts_holds: true,
    }]
}

/// A cost of which this share grows with bytes.
fn cost(per_byte: f64) -> Option<PacketCost> {
    let fixed_ns = Interval {
        value: 1447.0,
        low: Some(1439.0),
        high: Some(1455.0),
    };
    let unit = Unit::Packet;
    Some(PacketCost {
        per_byte,
        fixed_ns,
        unit,
    })
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
        ("sender's CPU", Confidence::High)
    );
    assert!(verdict.runner_up.is_some());
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
        ..sender.clone()
    };
    let verdict = decide(&contended);
    assert_eq!(verdict.limiter().to_string(), "sender's CPU");
    assert!(verdict.chosen.detail.contains("other threads"));
    let receiver = Signals {
        sender: times(0.3, 0.0, 0.0),
        receiver: times(0.97, 0.0, 0.0),
        ..calm()
    };
    assert_eq!(named(&receiver), "receiver's CPU");
    let reader = Signals {
        sender: times(0.1, 0.0, 0.0),
        receiver: times(0.2, 0.0, 0.78),
        ..calm()
    };
    assert_eq!(named(&reader), "reader too slow");
    let paced = Signals {
        sender: times(0.2, 0.0, 0.78),
        receiver: times(0.2, 0.0, 0.0),
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
    let found = (verdict.limiter().to_string(), verdict.confidence);
    assert_eq!(
        found,
        ("CPU quota of the receiver".to_owned(), Confidence::Medium)
    );
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
    let found = (verdict.limiter().name(), verdict.confidence);
    assert_eq!(found, ("congestion_window_clamp", Confidence::Medium));
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
        cwnd_growth: Some(0.4),
        ..Tcp::default()
    };
    assert_eq!(with(losing), "congestion window (loss)");
    let dropped = Signals {
        tcp: losing,
        hops: hop("s1 s1-eth2", 90.0, 0.0, 0.9),
        ..blocked()
    };
    assert_eq!(named(&dropped), "queue overflow at s1 s1-eth2");
    let mut unread = hop("s1 s1-eth2", 0.0, 0.0, 0.9);
    unread[0].missed = 90.0;
    let unread = Signals {
        tcp: losing,
        hops: unread,
        ..blocked()
    };
    assert_eq!(named(&unread), "link emulator's ring at s1 s1-eth2");
    let shaped = Signals {
        tcp: losing,
        hops: hop("sender h1-eth0", 90.0, 5000.0, 1.0),
        ..blocked()
    };
    assert_eq!(named(&shaped), "link or shaper rate at sender h1-eth0");
    assert_eq!(
        with(Tcp {
            queueing: Some(4.0),
            ..Tcp::default()
        }),
        "link or shaper rate on the path"
    );
    let standing = |passed_bps| {
        let mut hops = hop("s1 s1-eth2", 0.0, 0.0, 0.0);
        (hops[0].passed_bps, hops[0].rate_bps) = (passed_bps, Some(1e9));
        let tcp = Tcp {
            queueing: Some(4.0),
            ..Tcp::default()
        };
        decide(&Signals {
            tcp,
            hops,
            ..blocked()
        })
    };
    assert_eq!(standing(9.5e8).confidence, Confidence::High);
    // Its known rate is far from used.
    assert_eq!(standing(5e8).confidence, Confidence::Medium);
}

#[test]
fn losses_of_datagrams_are_told_by_who_counts_them() {
    assert_eq!(named(&lossy()), "path loss");
    // A policer's bucket empties.
    let changing = decide(&Signals {
        trend: Some(0.4),
        ..lossy()
    });
    let found = (changing.limiter().to_string(), changing.confidence);
    assert_eq!(found, ("path loss".to_owned(), Confidence::Medium));
    let at_hop = Signals {
        hops: hop("w1 w1-eth2", 950.0, 9000.0, 1.0),
        ..lossy()
    };
    assert_eq!(named(&at_hop), "queue overflow at w1 w1-eth2");
    let unread = |missed| {
        let mut signals = Signals {
            hops: hop("s1-eth2", 0.0, 0.0, 1.0),
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
    let both = |pct| Signals {
        sender: times(0.9, 0.0, 0.0),
        loss: Some(Loss { pct, ..loss }),
        ..waiting.clone()
    };
    for pct in [3.0, 30.0] {
        assert_eq!(decide(&both(pct)).confidence, Confidence::Medium);
    }
    let blocked = Signals {
        receiver: times(0.1, 0.0, 0.88),
        ..at_socket
    };
    assert_eq!(named(&blocked), "reader too slow");
    let at_ring = |napi| Signals {
        loss: Some(Loss {
            socket: Some(0.0),
            departure: Some(900.0),
            ..loss
        }),
        sender: times(0.99, 0.0, 0.0),
        receiver: times(0.3, 0.0, 0.7).map(|times| EndTimes { napi, ..times }),
        ..lossy()
    };
    assert_eq!(named(&at_ring(0.97)), "receiver's CPU");
    assert_eq!(named(&at_ring(0.5)), "sender's CPU");
    let little = Signals {
        loss: Some(Loss { pct: 0.5, ..loss }),
        sender: times(0.99, 0.0, 0.0),
        ..lossy()
    };
    assert_eq!(named(&little), "sender's CPU");
}

#[test]
fn datagrams_that_wait_for_a_poll_fill_the_send_buffer() {
    let moderated = Signals {
        is_tcp: false,
        is_moderated: true,
        ..calm()
    };
    assert_eq!(named(&moderated), "send buffer");
    let at_once = Signals {
        is_moderated: false,
        ..moderated.clone()
    };
    assert_eq!(named(&at_once), "unknown");
    let busy = Signals {
        receiver: times(0.8, 0.0, 0.0),
        ..moderated
    };
    assert_eq!(named(&busy), "unknown");
}

#[test]
fn a_queue_that_passes_its_whole_rate_limits_however_the_sender_spends_its_time() {
    let bucket = |passed_bps, overlimits| Signals {
        is_tcp: false,
        sender: times(0.99, 0.0, 0.0),
        hops: vec![Hop {
            passed_bps,
            rate_bps: Some(5e8),
            ..hop("sender h1-eth0", 0.0, overlimits, 0.6).remove(0)
        }],
        ..calm()
    };
    let full = decide(&bucket(4.99e8, 4e4));
    assert_eq!(
        full.limiter().to_string(),
        "link or shaper rate at sender h1-eth0"
    );
    // The sender is on a CPU all the time, too.
    assert_eq!(full.confidence, Confidence::Medium, "{full:?}");
    let half_full = decide(&bucket(2.5e8, 0.0));
    assert_eq!(half_full.limiter().name(), "sender_cpu");
    let not_quite = decide(&bucket(4.8e8, 4e4));
    assert_eq!(not_quite.limiter().name(), "sender_cpu");
    assert!(not_quite.confidence < Confidence::High, "{not_quite:?}");
    let asked = Signals {
        rate_kept: Some(1.0),
        ..bucket(4.9e8, 4e4)
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
        ..bucket(4.99e8, 4e4)
    });
    assert_eq!(losing.limiter().name(), "rate");
    // A link emulator does not count that it holds packets back.
    let mut emulated = bucket(4.99e8, 0.0);
    emulated.hops[0].counts_holds = false;
    assert_eq!(named(&emulated), "link or shaper rate at sender h1-eth0");
    emulated.hops[0].passed_bps = 4.8e8;
    assert_eq!(named(&emulated), "sender's CPU");
    assert_eq!(losing.confidence, Confidence::Medium, "{losing:?}");
    let behind = losing.runner_up.expect("what drops them");
    assert_eq!(behind.limiter.name(), "udp_receive_buffer");
    let half_full = Signals {
        loss: Some(loss),
        ..bucket(2.5e8, 0.0)
    };
    assert_eq!(named(&half_full), "UDP receive buffer overflow");
}

#[test]
fn a_full_sender_that_retransmits_is_not_sure_to_limit() {
    let repeating = |retransmitted: f64| {
        decide(&Signals {
            sender: times(0.98, 0.0, 0.0),
            receiver: times(0.4, 0.0, 0.0),
            tcp: Tcp {
                retransmitted: Some(retransmitted),
                ..Tcp::default()
            },
            ..calm()
        })
    };
    assert_eq!(repeating(0.0001).confidence, Confidence::High);
    let verdict = repeating(0.013);
    assert_eq!(verdict.limiter().name(), "sender_cpu");
    assert_eq!(verdict.confidence, Confidence::Low);
    assert!(verdict.chosen.detail.contains("1.3 % of segments"));
}

#[test]
fn a_queue_that_is_never_empty_is_a_rate() {
    let queueing = |queueing: f64| Signals {
        sender: times(0.1, 0.0, 0.0),
        receiver: times(0.1, 0.0, 0.0),
        hops: hop("s1 s1-eth2", 900.0, 0.0, 0.0),
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
    let full = Signals {
        shared_cpus: Some(0.9),
        ..queueing(2.0)
    };
    assert_eq!(named(&full), "queue overflow at s1 s1-eth2");
    let acknowledging = Signals {
        sender: times(0.4, 0.0, 0.0).map(|times| EndTimes {
            napi: 0.85,
            ..times
        }),
        hops: Vec::new(),
        ..full
    };
    assert_eq!(named(&acknowledging), "sender's CPU");
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
        moderates: false,
        same_cpus: false,
        given_up: 0.0,
        bytes: 1,
        rtt_ns: Some(40_000.0),
    }
}

fn transactional(transactions: Transactions) -> Signals {
    let tcp = Tcp {
        queueing: Some(4.0),
        ..Tcp::default()
    };
    Signals {
        sender: times(0.06, 0.0, 0.0),
        receiver: times(0.06, 0.0, 0.0),
        transactions: Some(transactions),
        tcp,
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
    assert_eq!(verdict.confidence, Confidence::High, "{verdict:?}");
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
    let lossy = Transactions {
        given_up: 0.9,
        ..requests()
    };
    assert_eq!(named(&transactional(lossy)), "path loss");
    let refused = decide(&transactional(Transactions {
        connects: true,
        ..lossy
    }));
    assert_eq!(refused.limiter().name(), "path_loss");
    assert!(refused.remedy().contains("SYNs"), "{refused:?}");
    // The answers became slower: the client still waits for them.
    let slower = Signals {
        trend: Some(0.46),
        ..transactional(requests())
    };
    let verdict = decide(&slower);
    assert_eq!(verdict.limiter().name(), "latency");
    assert_eq!(verdict.confidence, Confidence::Medium, "{verdict:?}");
    let dear = Transactions {
        wake: Some(WakeUp {
            call_ns: 11_000.0,
            run_ns: 23_000.0,
        }),
        ..requests()
    };
    let verdict = decide(&transactional(dear));
    assert_eq!(verdict.limiter().name(), "wake_ups");
    assert_eq!(verdict.confidence, Confidence::Medium, "{verdict:?}");
    assert_eq!(
        verdict.chosen.detail,
        "15 % of both CPUs' time is waking the other endpoint: 1.8 wake-ups per message × 11.0 µs; 23.0 µs until the woken thread runs"
    );
    assert_eq!(
        verdict.remedy(),
        "wake less often: receivers that poll (waiting); busy polling (busy_poll_us); both endpoints on one CPU (sender_cpus, receiver_cpus); larger messages"
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
    let verdict = decide(&calm());
    assert_eq!(
        (verdict.limiter().to_string().as_str(), verdict.confidence),
        ("unknown", Confidence::Low)
    );
    assert!(verdict.runner_up.is_some(), "{verdict:?}");
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

/// The table of docs/method/bottleneck.md: every question in the order in which it is asked.
fn documented() -> String {
    let mut rows = String::new();
    for step in Step::ALL {
        for row in LIMITERS {
            for question in row.questions.iter().filter(|asked| asked.step == step) {
                let about = match question.about {
                    "" => String::new(),
                    about => format!(" ({about})"),
                };
                rows += &format!("| {}{about} | {} |\n", row.title, question.evidence);
            }
        }
    }
    rows
}

#[test]
fn the_table_of_limiters_is_the_one_of_the_method() {
    let rows = documented();
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
