//! The ends: their CPUs, quotas of CPU time, and the rate that the sender keeps.

use bitcost_model::record::Role;

use super::application::{has_no_time, is_capped};
use super::evidence::{AT_WORK, LOSS_PCT, RATE_KEPT, SHARED, keeps_rate, least, least_of, most};
use super::lost::at_socket;
use crate::explain::behind::Behind;
use crate::explain::limiter::{Candidate, Evidence, Limiter, LimiterRow};
use crate::explain::others::ALONE;
use crate::explain::signals::{CONTENDED, EndTimes, Signals};

/// A thread that is on a CPU or waiting for one for this share has no time left.
const BUSY: f64 = crate::metrics::FULL;

/// A sender that is blocked in send for at most this share is never held up.
const BLOCKED: f64 = 0.15;

/// A receiver that is blocked in receive for at most this share always has work.
const STARVED: f64 = 0.10;

/// From this share, a sender is blocked in send by more than chance.
const HELD_UP: f64 = 0.05;

/// An end that is blocked for more than this share waits for its peer rather than for a CPU.
const HALF: f64 = 0.5;

/// Share of the cost that grows with bytes below which a size is bound by its packets.
const PER_BYTE: f64 = 0.25;

/// From this share of the time, a quota held an end back.
const THROTTLED: f64 = 0.05;

/// A receiver that sleeps by its own choice for this share reads too slowly.
const SLEEPS: f64 = 0.3;

const ON_THE_SAME_CPUS: &str = "both ends run on the same CPUs, and wait for each other there";
const ON_FULL_CPUS: &str = "the CPUs of this machine are full, and both ends use them";
const STOP_PROGRAMS: &str = "stop or move the other programs, or pin this end";

pub static SENDER_CPU: LimiterRow = LimiterRow {
    name: "sender_cpu",
    title: "sender's CPU",
    remedy: "larger messages; segmentation offload at the sender; a fast send mode (--send-mode); more flows on more CPUs; --mode auto, since packets are not full",
    evidence: "on a CPU or waiting for one 75 %; blocked in send at most 15 %, or half as long as the receiver in receive. On one machine also: 75 % of all CPUs' time in use, the threads of both ends waiting for a CPU 25 % together, and blocked less than the other end and 50 % at most",
    suspects: |signals, found| {
        let full = sending(signals).filter(|_| of_packets(signals).is_none());
        let full = full.map(|evidence| SENDER_CPU.suspect(0.8, evidence).of_steady());
        found.extend(full.map(|full| waiting(signals, Role::Sender, full)));
        found.extend(shared(signals, Role::Sender, &SENDER_CPU));
    },
};

pub static RECEIVER_CPU: LimiterRow = LimiterRow {
    name: "receiver_cpu",
    title: "receiver's CPU",
    remedy: "larger receive calls; GRO at the receiver; a fast receive mode (--receive-mode); more flows on more CPUs",
    evidence: "on a CPU or waiting for one 75 %; sender blocked in send 5 %, receiver in receive at most 10 %, or half as long as the sender. On one machine also as the sender's. UDP: busy as much or waiting for a CPU 25 %, and the drops of its socket are half of the loss, which is over 2 %",
    suspects: |signals, found| {
        let Some(receiver) = signals.receiver else {
            return;
        };
        let busy = "receiver on a CPU or waiting for one";
        let busy = least(busy, receiver.busy(), BUSY);
        let no_time = match receiver.wait < CONTENDED {
            true => busy.clone(),
            false => least("receiver waiting for a CPU", receiver.wait, CONTENDED),
        };
        let overflows = at_socket(signals, no_time.clone());
        let overflows = overflows.map(|evidence| RECEIVER_CPU.suspect(0.9, evidence));
        let full = receiving(signals).map(|mut evidence| {
            evidence.push(busy);
            RECEIVER_CPU.suspect(0.75, evidence).of_steady()
        });
        let foreign = has_no_time(signals, no_time);
        let foreign = foreign.map(|evidence| RECEIVER_CPU.suspect(0.91, evidence));
        let alone = overflows.into_iter().chain(full).chain(foreign);
        found.extend(alone.map(|found| waiting(signals, Role::Receiver, found)));
        found.extend(shared(signals, Role::Receiver, &RECEIVER_CPU));
    },
};

pub static SLOW_READER: LimiterRow = LimiterRow {
    name: "slow_reader",
    title: "reader too slow",
    remedy: "make the receiving program read sooner; larger buffers only delay the loss",
    evidence: "the receiver sleeps by its own choice 30 %; sender blocked in send 5 %, receiver in receive at most 10 %, or half as long as the sender; or of UDP, the drops of its socket are half of the loss, which is over 2 %",
    suspects: |signals, found| {
        // Why another program does not read is not known.
        let Some(receiver) = signals.receiver.filter(|_| !signals.is_foreign()) else {
            return;
        };
        let slept = || least("receiver sleeping between calls", receiver.slept, SLEEPS);
        let lost = at_socket(signals, slept());
        found.extend(lost.map(|evidence| SLOW_READER.suspect(0.9, evidence)));
        found.extend(receiving(signals).map(|mut evidence| {
            evidence.push(slept());
            SLOW_READER.suspect(0.75, evidence).of_steady()
        }));
    },
};

pub static PACKETS_PER_SECOND: LimiterRow = LimiterRow {
    name: "packets_per_second",
    title: "packets per second",
    remedy: "larger messages; a larger MTU; segmentation offload at the sender; a fast send mode (--send-mode)",
    evidence: "the sender's CPU, which nothing else takes; of the cost at this size at most 25 % grows with bytes, by what packets cost in the execution (upper bound): of datagrams by messages; of TCP by segments, where 0.9 packets or more left the interface for each",
    suspects: |signals, found| {
        let all = sending(signals).zip(of_packets(signals)).zip(signals.cost);
        found.extend(all.map(|((sending, of_packets), cost)| {
            let fixed = cost.fixed_ns.with_places(0);
            let detail = format!("the sender's CPU: {fixed} ns a packet, whatever its size");
            let found = PACKETS_PER_SECOND.suspect(0.8, [sending, of_packets].concat());
            found.of_steady().with_detail(detail)
        }));
    },
};

pub static CPU_QUOTA: LimiterRow = LimiterRow {
    name: "cpu_quota",
    title: "CPU quota",
    remedy: "raise the CPU quota of the end's control group (cpu.max)",
    evidence: "an end throttled 5 % of the time (`cpu.stat`, no more than its threads wait for a CPU); and a requested rate is not kept, or over 2 % of datagrams are lost",
    suspects: |signals, found| {
        let is_lossy = signals.loss.is_some_and(|loss| loss.pct > LOSS_PCT);
        let ends = [Role::Sender, Role::Receiver].into_iter();
        let ends = ends.filter(|_| is_lossy || !keeps_rate(signals));
        found.extend(ends.filter_map(|role| {
            let share = signals.throttled[role as usize].filter(|share| *share > 0.0)?;
            // The kernel adds up the times of all CPUs.
            let share = signals.end(role).map_or(share, |end| share.min(end.wait));
            let counter = format!("{} throttled by its quota", role.name());
            let found = CPU_QUOTA.suspect(0.88, vec![least(counter, share, THROTTLED)]);
            Some(found.at(format!("of the {}", role.name())))
        }));
    },
};

pub static APPLICATION_PACING: LimiterRow = LimiterRow {
    name: "application_pacing",
    title: "application pacing",
    remedy: "",
    evidence: "the requested rate is missed by 2 % at most",
    suspects: |signals, found| {
        found.extend(signals.rate_kept.map(|kept| {
            let below = "rate handed over, below the requested rate by";
            let evidence = vec![most(below, (1.0 - kept).max(0.0), RATE_KEPT)];
            let kept = APPLICATION_PACING.suspect(0.85, evidence);
            kept.of_steady().with_detail("the requested rate is kept")
        }));
        found.extend(is_capped(signals, &APPLICATION_PACING));
    },
};

/// The quota of the endpoint with this role.
pub fn quota_of(role: Role) -> Limiter {
    CPU_QUOTA.placed(format!("of the {}", role.name()))
}

/// Whether threads that poll are on a CPU without working.
fn polls(signals: &Signals) -> bool {
    let transactions = signals.transactions;
    transactions.is_some_and(|transactions| transactions.busy_polls)
}

/// Evidence that the sender is never held up and has no time left.
pub(super) fn sending(signals: &Signals) -> Option<Vec<Evidence>> {
    let sender = signals.sender.filter(|_| !polls(signals))?;
    let receiver = signals.receiver.unwrap_or_default();
    let other = receiver.blocked / 2.0;
    Some(vec![
        most("sender blocked in send", sender.blocked, BLOCKED.max(other)),
        least("sender on a CPU or waiting for one", sender.busy(), BUSY),
    ])
}

/// Evidence that the receiver of a stream always has work, or makes the sender wait.
pub(super) fn receiving(signals: &Signals) -> Option<Vec<Evidence>> {
    let (sender, receiver) = tcp_ends(signals)?;
    let bound = STARVED.max(sender.blocked / 2.0);
    Some(vec![
        least("sender blocked in send", sender.blocked, HELD_UP),
        most("receiver blocked in receive", receiver.blocked, bound),
    ])
}

/// Sender and receiver of a stream.
fn tcp_ends(signals: &Signals) -> Option<(EndTimes, EndTimes)> {
    let both = signals.sender.zip(signals.receiver);
    both.filter(|_| signals.is_tcp && !polls(signals))
}

/// Evidence that the CPUs that both ends share are in use; absent on two machines.
fn at_work(signals: &Signals) -> Option<Evidence> {
    let shared = signals.shared_cpus?;
    Some(least(AT_WORK, shared, SHARED))
}

/// CPUs that both ends of a stream share and that are full, with the end that is blocked less.
fn shared(signals: &Signals, role: Role, row: &'static LimiterRow) -> Option<Candidate> {
    let ((sender, receiver), at_work) = tcp_ends(signals).zip(at_work(signals))?;
    let (own, other) = match role {
        Role::Sender => (sender.blocked, receiver.blocked),
        Role::Receiver => (receiver.blocked, sender.blocked),
    };
    let is_less = own < other || (own == other && role == Role::Sender);
    let waiting = "both ends' programs waiting for a CPU, together";
    let blocked = format!(
        "{} blocked in its calls, less than the other end",
        role.name()
    );
    let evidence = vec![
        at_work,
        least(waiting, sender.wait + receiver.wait, CONTENDED),
        most(blocked, own, HALF),
    ];
    let found = row.suspect(0.7, evidence).of_steady();
    let both = match signals.pinned_together {
        true => ON_THE_SAME_CPUS,
        false => ON_FULL_CPUS,
    };
    is_less.then(|| match signals.behind.contains(&Some(Behind::Programs)) {
        true => {
            let detail = format!("{}; {both}", Behind::Programs.detail());
            found.with_detail(detail).with_remedy(STOP_PROGRAMS)
        }
        false => found.with_detail(both),
    })
}

/// The candidate of an endpoint's CPU; where the endpoint waits for it, with who has it, and what helps where other
/// programs do.
fn waiting(signals: &Signals, role: Role, mut found: Candidate) -> Candidate {
    let wait = signals.end(role).map_or(0.0, |times| times.wait);
    if wait < CONTENDED {
        return found;
    }
    let counter = format!("{} waiting for a CPU", role.name());
    found.evidence.push(least(counter, wait, CONTENDED));
    let behind = signals.behind[role as usize].unwrap_or(Behind::NotKnown);
    let found = found.with_detail(behind.detail());
    match behind {
        Behind::Programs => found.with_remedy(STOP_PROGRAMS),
        _ => found,
    }
}

/// Evidence that the sender's CPU is spent on packets and not on bytes; absent where it is not,
/// where that cannot be determined, and where other threads take the CPU.
fn of_packets(signals: &Signals) -> Option<Vec<Evidence>> {
    signals.sender.filter(|sender| sender.wait < CONTENDED)?;
    let per_byte = signals.cost?.per_byte;
    let counter = "cost that grows with bytes at this size, at most";
    let mut evidence = vec![most(counter, per_byte, PER_BYTE)];
    if signals.is_tcp {
        // A segment that leaves within a super-packet is not counted as a packet.
        let packets = signals.tcp.packets_per_segment?;
        let counter = "packets that left the sender's interface ÷ segments";
        evidence.push(least_of(counter, packets, "", ALONE));
    }
    let holds = evidence.iter().all(|one| one.margin() >= 0.0);
    holds.then_some(evidence)
}
