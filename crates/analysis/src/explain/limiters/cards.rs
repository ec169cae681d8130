//! What only network cards have: queues with their CPUs, and NUMA nodes.

use bitcost_model::record::Role;

use super::ends::{receiving, sending};
use super::evidence::{keeps_rate, least};
use super::lost::{at_socket, datagrams};
use super::path::HELD_UP;
use crate::explain::limiter::{Evidence, LimiterRow};
use crate::explain::signals::{CONTENDED, Signals};

/// A CPU that spends this share of its time on one kind of work has no time left.
const FULL: f64 = crate::metrics::FULL;

/// Share of the time from which on it is most of it.
const MOSTLY: f64 = 0.5;

pub static RECEIVE_QUEUE: LimiterRow = LimiterRow {
    name: "receive_queue",
    title: "CPU of one receive queue",
    remedy: "spread what is received over more CPUs: more queues (ethtool -L), more flows (RSS), RPS (rps_cpus), or flow steering (ethtool -N)",
    evidence: "of a card: one CPU of the receiver, or one NAPI thread, is in its receive work 75 % of the time, the other CPUs are idle 50 %; and the sender of a stream is blocked in send 30 %, or of UDP half of the loss, which is over 2 %, is before the socket",
    suspects: |signals, found| {
        let card = signals.cards[Role::Receiver as usize].as_ref();
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
            Some(full.of_change().with_detail(cpu.name.clone()))
        }));
    },
};

pub static FAR_NODE: LimiterRow = LimiterRow {
    name: "far_node",
    title: "NUMA node far from the card",
    remedy: "run the program on CPUs of the card's node with numactl (--sender-cpus, --receiver-cpus), and have its interrupts there (/proc/irq/N/smp_affinity_list)",
    evidence: "of a card: as for an end's CPU, for which it does not wait, or for the CPU of a receive queue; and half of the CPUs to which the end is confined, or that CPU, are on another NUMA node than the card",
    suspects: |signals, found| {
        for role in [Role::Sender, Role::Receiver] {
            let far = signals.cards[role as usize]
                .as_ref()
                .and_then(|card| card.far);
            found.extend(far.and_then(|(share, node)| {
                let mut evidence = full(signals, role)?;
                evidence.push(least("CPUs on another NUMA node", share, MOSTLY));
                let strength = match role {
                    _ if !signals.is_tcp && role == Role::Receiver => 0.91,
                    Role::Receiver => 0.76,
                    Role::Sender => 0.81,
                };
                let far = FAR_NODE.suspect(strength, evidence);
                let far = far.with_detail(format!("the card is on node {node}"));
                Some(far.at(format!("of the {}", role.name())))
            }));
        }
    },
};

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
