//! What only network cards have: queues with their CPUs, rings, pause frames, links, and NUMA nodes.

use bitcost_model::record::Role;

use super::application::MOSTLY;
use super::ends::{receiving, sending};
use super::evidence::{EXPLAINED, keeps_rate, least, least_of};
use super::lost::{RETRANSMITTED, at_socket, datagrams, losses};
use super::path::HELD_UP;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow};
use crate::explain::signals::{CONTENDED, Signals};
use crate::metrics::FULL;

/// A link is full from this share of its rate on: each packet also takes 24 bytes that no counter has.
const LINK_FULL: f64 = 0.9;

/// Pause frames a second from which on they matter: one stops a link of 10 Gbit/s for up to 3 ms, one of 1 Gbit/s for 34 ms.
const PAUSES: f64 = 10.0;

pub static RECEIVE_QUEUE: LimiterRow = LimiterRow {
    name: "receive_queue",
    title: "CPU of one receive queue",
    remedy: "spread what is received over more CPUs: more queues (ethtool -L), more flows (RSS), RPS (rps_cpus), or flow steering (ethtool -N)",
    evidence: "of a card: one CPU of the receiver, or one NAPI thread, is in its receive work 75 % of the time, the other CPUs are idle 50 %; and the sender of a stream is blocked in send 30 %, or of UDP half of the loss, which is over 2 %, is before the socket",
    suspects: |signals, found| {
        let card = signals.card(Role::Receiver);
        let cpu = card.and_then(|card| card.receive_cpu.as_ref());
        found.extend(cpu.and_then(|cpu| {
            let busy = format!("{} of the receiver in receive work", cpu.name);
            let busy = least(busy, cpu.busy, FULL);
            let mut evidence = match signals.loss {
                None => held_up(signals, busy)?,
                Some(loss) => {
                    let before = (loss.lost - loss.socket.unwrap_or(0.0)).max(0.0);
                    let lost = datagrams(signals, "lost before the receiver's socket", before)?;
                    [vec![busy], lost].concat()
                }
            };
            evidence.push(least("its other CPUs idle", cpu.others_idle, MOSTLY));
            let full = match cpu.is_far {
                true => FAR_NODE.suspect(0.93, evidence).at("of the interrupts"),
                false => RECEIVE_QUEUE.suspect(0.93, evidence),
            };
            Some(full.with_detail(cpu.name.clone()))
        }));
    },
};

pub static RING_OVERFLOW: LimiterRow = LimiterRow {
    name: "ring_overflow",
    title: "receive ring overflow",
    remedy: "raise the receive ring of the receiver's card (ethtool -G), or have it emptied sooner: more queues, RPS (rps_cpus), less interrupt coalescing",
    evidence: "of a card: of UDP, half of the loss, which is over 2 %, is dropped by the receiver's card, whose ring or memory is full; of TCP, enough segments are lost, and it dropped half as many, or (without the sender) 0.1 % of what came",
    suspects: |signals, found| {
        found.extend(signals.card(Role::Receiver).and_then(|card| {
            let counter = "dropped by the receiver's card";
            let [drops, came] = card.dropped.filter(|[drops, _]| *drops > 0.0)?;
            let (strength, evidence) = match signals.tcp.retransmits {
                _ if signals.loss.is_some() => (0.91, datagrams(signals, counter, drops)?),
                Some(all) => {
                    let words = format!("{counter} ÷ retransmitted segments");
                    let explained = least(words, drops / all.max(1.0), EXPLAINED);
                    (0.66, vec![losses(&signals.tcp)?, explained])
                }
                None => {
                    let words = format!("{counter} ÷ packets that came");
                    let share = drops / (came + drops);
                    (0.66, vec![least(words, share, RETRANSMITTED)])
                }
            };
            Some(RING_OVERFLOW.suspect(strength, evidence))
        }));
    },
};

pub static PAUSE_FRAMES: LimiterRow = LimiterRow {
    name: "pause_frames",
    title: "pause frames",
    remedy: "find what cannot take the packets (the receiver's ring or CPU, or a slower port of a switch), or turn flow control off (ethtool -A) where loss is better than waiting",
    evidence: "of a card: 10 pause frames a second stop the sender's card, or leave the receiver's; the sender is blocked in send 30 %, and a requested rate is not kept",
    suspects: |signals, found| {
        let places = [
            "received by the sender's card",
            "sent by the receiver's card",
        ];
        for (card, place) in signals.cards.iter().zip(places) {
            let pauses = card.as_ref().and_then(|card| card.pauses);
            found.extend(pauses.filter(|pauses| *pauses > 0.0).and_then(|pauses| {
                let many = least_of("pause frames", pauses, "1/s", PAUSES);
                Some(PAUSE_FRAMES.suspect(0.9, held_up(signals, many)?).at(place))
            }));
        }
    },
};

pub static LINK_MODE: LimiterRow = LimiterRow {
    name: "link_mode",
    title: "speed or duplex of the link",
    remedy: "if the card supports more than its link has, have both ends of the cable negotiate (ethtool -s … autoneg on), and try another cable, module or port; or else a faster card",
    evidence: "of a card: 90 % of the rate of its link passed; or its link is half duplex, and the sender is blocked in send 30 %; and a requested rate is not kept",
    suspects: |signals, found| {
        for (card, place) in signals
            .cards
            .iter()
            .zip(["of the sender", "of the receiver"])
        {
            let Some(card) = card.as_ref().filter(|_| !keeps_rate(signals)) else {
                continue;
            };
            // An emulated card is not held to the rate of its link.
            let link = card.link_mbps.filter(|[mbps, passed]| passed <= mbps);
            let full = link.map(|[mbps, passed]| {
                let passed = least("rate of the link that passed", passed / mbps, LINK_FULL);
                let full = LINK_MODE.suspect(0.94, vec![passed]);
                full.with_detail(format!("{mbps} Mbit/s"))
            });
            let half = card.is_half_duplex.then(|| {
                let half = least_of("link in half duplex", 1.0, "", 1.0);
                Some(LINK_MODE.suspect(0.9, held_up(signals, half)?))
            });
            let all = full.into_iter().chain(half.flatten());
            found.extend(all.map(|one| one.at(place)));
        }
    },
};

pub static FAR_NODE: LimiterRow = LimiterRow {
    name: "far_node",
    title: "NUMA node far from the card",
    remedy: "run the program on CPUs of the card's node with numactl (--sender-cpus, --receiver-cpus), and have its interrupts there (/proc/irq/N/smp_affinity_list)",
    evidence: "of a card: as for an end's CPU, for which it does not wait, or for the CPU of a receive queue; and half of the CPUs to which the end is confined, or that CPU, are on another NUMA node than the card",
    suspects: |signals, found| {
        for role in [Role::Sender, Role::Receiver] {
            let far = signals.card(role).and_then(|card| card.far);
            found.extend(far.and_then(|(share, node)| {
                let far = least("CPUs on another NUMA node", share, MOSTLY);
                let strength = match role {
                    _ if !signals.is_tcp && role == Role::Receiver => 0.91,
                    Role::Receiver => 0.76,
                    Role::Sender => 0.81,
                };
                let detail = format!("the card is on node {node}");
                of_full_end(signals, role, &FAR_NODE, strength, far, detail)
            }));
        }
    },
};

pub static FIXED_OFFLOADS: LimiterRow = LimiterRow {
    name: "fixed_offloads",
    title: "offload that the card lacks",
    remedy: "another card or driver (in a virtual machine virtio behind a tap with vnet_hdr), or a larger MTU on the whole path",
    evidence: "of a card: as for an end's CPU, for which it does not wait; segmentation or checksums of what is sent, or of what is received, are `off [fixed]`; and messages of a stream are 16 KiB or larger",
    suspects: |signals, found| {
        for role in [Role::Sender, Role::Receiver] {
            let lacks = signals.card(role).map(|card| &card.lacks);
            found.extend(lacks.filter(|lacks| !lacks.is_empty()).and_then(|lacks| {
                let fixed = least_of("offloads off [fixed]", lacks.len() as f64, "", 1.0);
                let strength = match role {
                    Role::Receiver => 0.755,
                    Role::Sender => 0.805,
                };
                let detail = format!("{} off [fixed]", lacks.join(", "));
                of_full_end(signals, role, &FIXED_OFFLOADS, strength, fixed, detail)
            }));
        }
    },
};

/// An end whose CPU is full, for what its card adds to that.
fn of_full_end(
    signals: &Signals,
    role: Role,
    row: &'static LimiterRow,
    strength: f64,
    added: Evidence,
    detail: String,
) -> Option<Candidate> {
    let mut evidence = full(signals, role)?;
    evidence.push(added);
    let found = row.suspect(strength, evidence).with_detail(detail);
    Some(found.of_steady().at(format!("of the {}", role.name())))
}

/// This evidence, and that the sender is held up; absent where a requested rate is kept, and of requests. Where only the
/// receiver is read, it stands alone.
fn held_up(signals: &Signals, evidence: Evidence) -> Option<Vec<Evidence>> {
    let is_stream = !keeps_rate(signals) && signals.transactions.is_none();
    let sender = signals.sender;
    let held_up = sender.map(|end| least("sender blocked in send", end.blocked, HELD_UP));
    is_stream.then(|| [evidence].into_iter().chain(held_up).collect())
}

/// Evidence that the CPU of an end, which nothing else takes, has no time left.
fn full(signals: &Signals, role: Role) -> Option<Vec<Evidence>> {
    let end = signals.end(role).filter(|end| end.wait < CONTENDED)?;
    let busy = least(format!("{} on a CPU", role.name()), end.cpu, FULL);
    let why = match role {
        Role::Sender => sending(signals)?,
        Role::Receiver if signals.loss.is_some() => at_socket(signals, busy.clone())?,
        Role::Receiver => receiving(signals)?,
    };
    Some([why, vec![busy]].concat())
}
