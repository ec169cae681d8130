//! Verdicts that only network cards have: on situations at random, and from records.

use crate::common::*;
use bitcost_analysis::explain::{CardSignals, EndTimes, Loss, ReceiveCpu, Signals, decide};
use bitcost_analysis::log::caveats_of;
use bitcost_model::counters::Card;

/// Numbers that follow from a seed (Knuth's linear congruential generator).
struct Dice(u64);

impl Dice {
    fn between(&mut self, low: f64, high: f64) -> f64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        low + (high - low) * (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn end(cpu: f64, blocked: f64) -> Option<EndTimes> {
    let slept = (1.0 - cpu - blocked).max(0.0);
    Some(EndTimes {
        cpu,
        blocked,
        slept,
        ..EndTimes::default()
    })
}

/// A stream whose sender is held up, over a path on which a queue may build up, and whose cards have nothing to say; or
/// datagrams of which many are lost where no counter of the kernel sees it.
fn base(dice: &mut Dice, is_tcp: bool) -> Signals {
    let (blocked, taken) = (dice.between(0.35, 0.9), dice.between(0.1, 0.6));
    let mut signals = Signals {
        intervals: 20,
        seconds: 2.0,
        goodput_bps: Some(dice.between(1e8, 1e11)),
        trend: Some(dice.between(0.7, 1.4)),
        sender: end(1.0 - blocked, blocked),
        receiver: end(taken, 1.0 - taken),
        is_tcp,
        cards: [Some(CardSignals::default()), Some(CardSignals::default())],
        ..Signals::default()
    };
    if is_tcp {
        (signals.tcp.queueing, signals.tcp.retransmitted) =
            (Some(dice.between(1.0, 5.0)), Some(0.0));
        return signals;
    }
    let (lost, pct) = (dice.between(1e3, 1e6), dice.between(3.0, 60.0));
    let socket = Some(dice.between(0.0, 0.3) * lost);
    signals.loss = Some(Loss {
        lost,
        pct,
        socket,
        ..Loss::default()
    });
    signals
}

/// The number of causes of [`situation`].
const CAUSES: usize = 13;

/// A cause, and a situation in which its counters are this share beyond their bounds.
fn situation(cause: usize, dice: &mut Dice, beyond: f64) -> (&'static str, Signals) {
    let mut signals = base(dice, ![1, 5].contains(&cause));
    let lost = signals.loss.map_or(0.0, |loss| loss.lost);
    let [sender, receiver] = &mut signals.cards;
    let (sender, receiver) = (sender.as_mut().unwrap(), receiver.as_mut().unwrap());
    let full = 0.75 * (1.0 + beyond / 3.0);
    let cpu = |is_far| {
        let (name, others_idle) = ("CPU 3".to_owned(), 0.8);
        Some(ReceiveCpu {
            name,
            busy: full,
            others_idle,
            is_far,
        })
    };
    let name = match cause {
        0 | 1 => {
            receiver.receive_cpu = cpu(false);
            // Its ring is then full, too.
            receiver.dropped = Some([dice.between(0.0, lost), 1e6]);
            "receive_queue"
        }
        2 => {
            receiver.receive_cpu = cpu(true);
            "far_node"
        }
        3 => {
            (signals.sender, signals.tcp.queueing) = (end(full, 0.0), Some(1.1));
            sender.far = Some((dice.between(0.55, 1.0), 1));
            "far_node"
        }
        5 => {
            receiver.dropped = Some([lost * 0.5 * (1.0 + beyond), 1e6]);
            "ring_overflow"
        }
        6 => {
            let again = dice.between(100.0, 1e5);
            let tcp = &mut signals.tcp;
            (tcp.halves, tcp.queueing, tcp.retransmits) = (true, Some(1.1), Some(again));
            (tcp.cwnd_use, tcp.retransmitted) = (Some(1.0), Some(dice.between(0.002, 0.05)));
            receiver.dropped = Some([again * 0.5 * (1.0 + beyond), 1e6]);
            "ring_overflow"
        }
        7 => {
            let mbps = dice.between(1e2, 1e5);
            sender.link_mbps = Some([mbps, mbps * 0.9 * (1.0 + beyond / 10.0)]);
            "link_mode"
        }
        8 => {
            receiver.is_half_duplex = true;
            signals.sender = end(0.05, 0.3 * (1.0 + beyond));
            "link_mode"
        }
        9 | 10 => {
            let pauses = Some(10.0 * (1.0 + beyond));
            (if cause == 9 { sender } else { receiver }).pauses = pauses;
            "pause_frames"
        }
        11 => {
            (signals.sender, signals.tcp.queueing) = (end(full, 0.0), Some(1.1));
            sender.lacks = vec!["tso".to_owned()];
            "fixed_offloads"
        }
        12 => {
            (signals.sender, signals.receiver) = (end(0.3, 0.6), end(full, 0.0));
            signals.tcp.queueing = Some(1.1);
            receiver.lacks = vec!["rx".to_owned()];
            "fixed_offloads"
        }
        _ => {
            (signals.sender, signals.receiver) = (end(0.3, 0.6), end(full, 0.0));
            signals.tcp.queueing = Some(1.1);
            receiver.far = Some((dice.between(0.55, 1.0), 1));
            "far_node"
        }
    };
    (name, signals)
}

#[test]
fn each_is_named_in_situations_at_random_and_not_below_its_bound() {
    let mut dice = Dice(291_201);
    for round in 0..300 {
        let beyond = dice.between(0.02, 1.0);
        let (name, signals) = situation(round % CAUSES, &mut dice, beyond);
        let found = decide(&signals);
        assert_eq!(
            found.limiter().name(),
            name,
            "{round}: {signals:#?}\n{found:#?}"
        );
        let (_, weak) = situation(round % CAUSES, &mut dice, -beyond.max(0.1));
        assert_ne!(decide(&weak).limiter().name(), name, "{round}: {weak:#?}");
    }
}

#[test]
fn cards_that_say_nothing_change_no_verdict() {
    let mut dice = Dice(291_203);
    for round in 0..200 {
        let with = base(&mut dice, round % 2 == 0);
        let without = Signals {
            cards: [None, None],
            ..with.clone()
        };
        assert_eq!(decide(&with), decide(&without), "{with:#?}");
    }
}

#[test]
fn what_a_card_says_is_read_from_a_record_of_256_cpus() {
    // Eleven readings in two seconds; CPU 66 receives 90 % of the time, of which a hypervisor hides a third; all others are idle.
    let at = |reading: u64| {
        let cpu = |cpu| {
            let receives = u64::from(cpu == 66) * reading;
            CpuTicks {
                cpu,
                softirq: 12 * receives,
                idle: 20 * reading - 18 * receives,
                ..CpuTicks::default()
            }
        };
        let mut sample = sample(
            200_000_000 * (1 + reading),
            (0..256).map(cpu).collect(),
            Vec::new(),
        );
        sample.interfaces.push(Interface {
            rx_bytes: 24_000_000 * reading,
            // The other direction.
            tx_bytes: 30_000_000 * reading,
            rx_dropped: 70 + 10 * reading,
            rx_packets: 1000 * reading,
            ..Interface::default()
        });
        let interrupt = |queue: u32| (format!("eth0-TxRx-{queue}"), (64 + queue).to_string());
        sample.card = Some(Box::new(Card {
            node: Some(1),
            near_cpus: "64-127,192-255".to_owned(),
            interrupts: (0..4).map(interrupt).collect(),
            handled: Some(500 * reading),
            speed_mbps: Some(1000),
            ring_drops: Some(7 * reading),
            pauses_received: Some(1000 * reading),
            pauses_sent: Some(10 * reading),
            lacks: ["tso", "rx"].map(str::to_owned).into(),
            ..Card::default()
        }));
        sample
    };
    let mut samples: Vec<Sample> = (0..=10).map(at).collect();
    for sample in &mut samples[1..10] {
        sample.card = None;
    }
    // The sender's host was too busy for one of them.
    let all = |role| {
        samples
            .iter()
            .enumerate()
            .filter(move |(at, _)| role == Role::Receiver || *at != 5)
    };
    let end = |role| EndpointRecord {
        pinned_cpus: vec![63, 64],
        ..record(
            role,
            counts(1000, 1 << 20),
            all(role).map(|(_, sample)| sample.clone()).collect(),
        )
    };
    let run = Run::new(Workload::TcpStream, ENDS.map(end));
    let found = Signals::of(&run.view()).cards[1].clone().expect("a card");
    assert_eq!(
        (found.far, found.dropped),
        (Some((0.5, 1)), Some([70.0, 10_000.0]))
    );
    assert_eq!(found.pauses, Some(50.0));
    assert_eq!(found.lacks, ["rx"]);
    assert_eq!(found.link_mbps, Some([1000.0, 960.0]));
    let cpu = found.receive_cpu.expect("a CPU");
    assert_eq!(
        (cpu.name.as_str(), cpu.is_far),
        ("CPU 66 (eth0-TxRx-2)", false)
    );
    assert_close(Some(cpu.busy), 0.9);
    assert_close(Some(cpu.others_idle), 1.0);
    run.assert_has("receiver_interrupts_per_second", 2500.0);
    let caveats = caveats_of(&run.view());
    let far = "the receiver runs on CPUs 63-64, not all of them on node 1, where its card is";
    assert!(caveats.iter().any(|caveat| caveat == far), "{caveats:?}");
    // On one machine it is not known whose packets a CPU receives.
    let shared = Run {
        shared_cpus: true,
        ..run
    };
    assert_eq!(
        Signals::of(&shared.view()).cards[1]
            .as_ref()
            .expect("a card")
            .receive_cpu,
        None
    );
}
