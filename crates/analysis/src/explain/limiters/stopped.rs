//! Ends that do not run although they have work and no other thread has their CPU: stopped, or waiting for a disk.

use bitcost_model::record::Role;

use super::evidence::{keeps_rate, least};
use super::lost::at_socket;
use super::path::HELD_UP;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow};
use crate::explain::signals::{EndTimes, Signals};

/// From this share of the time, an end that does not run is what its transfer waits for, if the connection notices.
const STANDS: f64 = 0.25;

/// From this share of the time, a connection notices: its sender has nothing in flight, or its window is closed.
const NOTICED: f64 = 0.10;

pub static PAUSED: LimiterRow = LimiterRow {
    name: "paused",
    title: "stopped program",
    remedy: "find what stops it: signals or a debugger (State in /proc/PID/status), a frozen control group (cgroup.freeze, docker pause), a virtual machine that is paused or moved",
    evidence: "an end is stopped 25 % of the time: timers late while it waits for no CPU, or threads found stopped; and a requested rate is not kept; of a stream of TCP also the sender's connection has nothing to send 10 % of the time, or for a receiver the sender is blocked in send 30 % (weaker evidence where `tcpi_rwnd_limited` is under 10 % of the busy time); of UDP, the drops of the receiver's socket are half of the loss, which is over 2 %",
    suspects: |signals, found| {
        let detail = "by a signal, a freezer or a debugger, or with its machine";
        let all = standing(signals, &PAUSED, "stopped", |times| times.paused);
        found.extend(all.map(|found| found.with_detail(detail)));
    },
};

pub static DISK: LimiterRow = LimiterRow {
    name: "disk",
    title: "disk or memory",
    remedy: "find what it waits for: swapped memory (si and so in vmstat), memory.high of its control group (memory.events), a slow disk or network file system (iostat -x); give it more memory, or a faster disk",
    evidence: "an end is found in uninterruptible sleep (D) 25 % of the time; and as for a stopped program",
    suspects: |signals, found| {
        let sleep = "in uninterruptible sleep";
        found.extend(standing(signals, &DISK, sleep, |times| times.disk));
    },
};

/// Each end of which this share of the time is not 0, with its evidence.
fn standing(
    signals: &Signals,
    row: &'static LimiterRow,
    words: &str,
    share: fn(EndTimes) -> f64,
) -> impl Iterator<Item = Candidate> {
    let ends = [Role::Sender, Role::Receiver].into_iter();
    ends.filter_map(move |role| {
        let times = signals.end(role).filter(|times| share(*times) > 0.0)?;
        let name = role.name();
        let stands = least(format!("{name} {words}"), share(times), STANDS);
        let (strength, evidence) = noticed(signals, role, stands)?;
        Some(row.suspect(strength, evidence).at(format!("of the {name}")))
    })
}

/// Evidence that the transfer waits for this end, and how much it says. A receiver that reads nothing makes its kernel
/// acknowledge late, long before its window is closed.
fn noticed(signals: &Signals, role: Role, stands: Evidence) -> Option<(f64, Vec<Evidence>)> {
    if role == Role::Receiver && signals.loss.is_some() {
        return Some((0.91, at_socket(signals, stands)?));
    }
    let is_closed = signals.tcp.rwnd_limited >= Some(NOTICED);
    let nothing = |idle| least("connection without data to send", idle, NOTICED);
    let held_up = |end: EndTimes| least("sender blocked in send", end.blocked, HELD_UP);
    let (strength, other) = match role {
        _ if keeps_rate(signals) => return None,
        _ if signals.transactions.is_some() => (1.0, None),
        Role::Sender if signals.is_tcp => (1.0, Some(nothing(signals.idle?))),
        Role::Sender => (0.89, None),
        Role::Receiver if !signals.is_tcp => return None,
        Role::Receiver if is_closed => (1.0, Some(held_up(signals.sender?))),
        Role::Receiver => (0.6, Some(held_up(signals.sender?))),
    };
    let evidence = std::iter::once(stands).chain(other).collect();
    Some((strength, evidence))
}
