//! Limits that the programs themselves set, of connections that are not bitcost's own.

use bitcost_model::record::Role;

use super::evidence::{QUEUEING, least, least_of, most, most_of};
use crate::explain::foreign::Foreign;
use crate::explain::limiter::{Candidate, Evidence, LimiterRow};
use crate::explain::signals::Signals;

/// Share of the time from which on something is no chance.
const OFTEN: f64 = 0.3;

/// Datagrams that a socket drops, from this share on.
const DROPPED: f64 = 0.02;
const DROPS: &str = "datagrams that the receiving socket dropped";

const SPARE: &str = "less than a segment waiting to be sent, with room in the congestion window";

const UNREAD: &str = "received data waiting for the program";
const PILES_UP: &str = "a quarter of the receive buffer waiting for the program";
const LATE: &str = "segments out of order";

/// The share of segments out of order from which on the receive buffer holds what waits for those before them.
const MANY_LATE: f64 = 0.01;

/// A thread that is on a CPU or waiting for one for this share has no time left.
const BUSY: f64 = crate::metrics::FULL;

/// Share of the time from which on it is most of it.
pub(super) const MOSTLY: f64 = 0.5;

/// The most bytes of a small write.
const SMALL: f64 = 1024.0;

/// A full send buffer takes data again when a third of it is free.
const NOT_FULL: f64 = 2.0 / 3.0;

/// With less data under way than for this share of the time, nothing holds back what is written.
const ALWAYS: f64 = 0.9;
const UNDER_WAY: &str = "time with data under way (tcpi_busy_time)";

/// Share of the busy time up to which a buffer does not limit.
const BUFFER: f64 = 0.25;

/// A window that closes falls below this share of its most.
const CLOSES: f64 = 0.25;

/// Datagrams between two sleeps of a program from which on they are a burst that a queue may have no room for.
const BURST: f64 = 32.0;

/// Segments of data in the other direction for each round trip, where each part waits for a request.
const TURNS: [f64; 2] = [0.4, 2.5];

/// Connections a second from which on they are what is done.
const OPENED: f64 = 5.0;

/// A window, and the rate that a program allows, are full from this share on.
const FULL: f64 = 0.7;
const KEPT: f64 = 0.9;

pub static NAGLE: LimiterRow = LimiterRow {
    name: "nagle",
    title: "small segments held back",
    remedy: "write what belongs together with one call (writev), or set TCP_NODELAY in the program that writes; take TCP_CORK off after each answer",
    evidence: "of another program's connections: less than a segment waits to be sent 30 % of the time, with room in the congestion window and nothing sent again",
    suspects: |signals, found| {
        let details = [
            "Nagle's algorithm waits for an acknowledgement, which the other end delays",
            "nothing is under way: TCP_CORK or MSG_MORE holds it back",
        ];
        let foreign = signals.programs();
        let held = foreign.flat_map(|of| of.held.into_iter().zip(details));
        found.extend(held.filter_map(|(share, detail)| {
            let counter = "less than a segment waiting to be sent";
            Some(
                NAGLE
                    .shown(0.9, least(counter, share?, OFTEN))
                    .with_detail(detail),
            )
        }));
    },
};

pub static ACCEPT_QUEUE: LimiterRow = LimiterRow {
    name: "accept_queue",
    title: "full queue of connections",
    remedy: "accept sooner (more threads), or raise the backlog of listen() and net.core.somaxconn",
    evidence: "of another program's connections: as many wait to be accepted as may, 30 % of the time",
    suspects: |signals, found| {
        let full = signals.programs().filter_map(|of| of.queue_full);
        found.extend(full.filter(|share| *share > 0.0).map(|share| {
            let counter = "as many connections waiting to be accepted as may";
            ACCEPT_QUEUE.shown(0.92, least(counter, share, OFTEN))
        }));
    },
};

pub static CONNECTION_SETUP: LimiterRow = LimiterRow {
    name: "connection_setup",
    title: "a connection for each request",
    remedy: "keep connections open (keep-alive, a pool of connections)",
    evidence: "of another program's connections: none lasts, and 5 a second are opened or accepted",
    suspects: |signals, found| {
        let none = signals.programs().filter(|of| of.connections == 0);
        found.extend(none.filter_map(|of| of.opened).map(|opened| {
            let counter = "connections that the host opened or accepted";
            CONNECTION_SETUP.shown(0.83, least_of(counter, opened, "1/s", OPENED))
        }));
    },
};

pub static SMALL_MESSAGES: LimiterRow = LimiterRow {
    name: "small_messages",
    title: "small messages",
    remedy: "join what is written: a buffer in the program that sends",
    evidence: "of another program's connections: the sender is on a CPU or waiting for one 75 %, and writes 1 KiB a call at most, or sends as little in a segment",
    suspects: |signals, found| {
        let written = signals.program(Role::Sender).and_then(|of| of.write_bytes);
        found.extend(written.zip(signals.sender).map(|(bytes, sender)| {
            let evidence = vec![
                least("sender on a CPU or waiting for one", sender.busy(), BUSY),
                most_of("bytes of a write or segment", bytes, "B", SMALL),
            ];
            SMALL_MESSAGES.suspect(0.82, evidence).of_steady()
        }));
    },
};

pub static SOCKET_MEMORY: LimiterRow = LimiterRow {
    name: "socket_memory",
    title: "memory limit of sockets",
    remedy: "raise the memory limit of the receiver's control group (memory.max), or net.ipv4.tcp_mem",
    evidence: "of another program's connections: its host was short of memory for received data once a second (`PruneCalled`, `RcvPruned`, `TCPRcvQDrop`, `TCPMemoryPressures`)",
    suspects: |signals, found| {
        let receives = signals.program(Role::Receiver);
        let times = receives.and_then(|of| of.short_of_memory);
        found.extend(times.filter(|times| *times > 0.0).map(|times| {
            let counter = "received data thrown away or pressed together for want of memory";
            SOCKET_MEMORY.shown(0.8, least_of(counter, times, "1/s", 1.0))
        }));
    },
};

pub static SENDER_APPLICATION: LimiterRow = LimiterRow {
    name: "sender_application",
    title: "sender's program",
    remedy: "see what the sending program waits for (its disk, its input, a lock, an answer): the connection takes all that it writes",
    evidence: "of another program's connections: less than a segment waits to be sent and the congestion window has room 50 % of the time, a buffer limits at most 25 % of the busy time, and data are under way at most 90 % of the time or the send buffer is at most 67 % in use; of datagrams: nothing waits to be sent, and the sender is on a CPU or waiting for one at most 75 %; or, of either program, nothing is under way and the last data came from the other end 50 % of the time, of connections with a data segment a second in each direction",
    suspects: |signals, found| {
        // Without traffic either program may wait for the other.
        let sends = signals.program(Role::Sender);
        let sends = sends.filter(|_| signals.is_moving());
        found.extend(sends.and_then(|of| {
            let evidence = match signals.is_tcp {
                true => offers_little(signals, &of)?,
                false => vec![
                    least("nothing waiting to be sent", of.is_empty?, MOSTLY),
                    most(
                        "sender on a CPU or waiting for one",
                        signals.sender?.busy(),
                        BUSY,
                    ),
                ],
            };
            let found = SENDER_APPLICATION.suspect(0.72, evidence);
            Some(match of.burst.filter(|count| *count >= BURST) {
                Some(count) => found.with_detail(format!(
                    "it does not offer more, and sends bursts of about {count:.0} datagrams, which a queue must hold"
                )).with_remedy("let the sending program sleep more often, and for less time (of iperf3 --pacing-timer), so that bursts are short"),
                None => found.with_detail("it does not offer more"),
            })
        }));
        found.extend(owes(signals, Role::Sender, &SENDER_APPLICATION));
    },
};

pub static RECEIVER_APPLICATION: LimiterRow = LimiterRow {
    name: "receiver_application",
    title: "receiver's program",
    remedy: "see what the receiving program does between its reads (one full thread, its disk, a lock)",
    evidence: "of another program's connections: a quarter of the receive buffer waits for it 50 % of the time, and at most 1 % of the segments arrive out of order; or the sender is limited by the receive window 25 % of its busy time, and that window falls below a quarter of its most",
    suspects: |signals, found| {
        found.extend(signals.programs().filter_map(|of| {
            let counter = "busy time limited by the receive window (tcpi_rwnd_limited)";
            let (strength, evidence) = match of.role {
                Role::Receiver => (0.75, piled_up(&of)?),
                Role::Sender => {
                    let limited = least(counter, signals.tcp.rwnd_limited?, BUFFER);
                    let dips = most("receive window, least of its most", of.dips?, CLOSES);
                    (0.74, vec![limited, dips])
                }
            };
            Some(RECEIVER_APPLICATION.suspect(strength, evidence))
        }));
        found.extend(owes(signals, Role::Receiver, &RECEIVER_APPLICATION));
    },
};

/// A program for which the other end waits, and that does not answer.
fn owes(signals: &Signals, role: Role, row: &'static LimiterRow) -> Option<Candidate> {
    let of = signals.program(role).filter(|_| signals.is_moving())?;
    let counter = "nothing under way, and the last data came from the other end";
    let found = row.shown(0.76, least(counter, of.its_turn?, MOSTLY));
    let words = match of.listens {
        true => "the other end waits for an answer of this server",
        false => "the other end waits for what this program sends next",
    };
    Some(found.with_detail(words))
}

/// Evidence of received data that wait for their program, and not for a segment that was lost.
fn piled_up(of: &Foreign) -> Option<Vec<Evidence>> {
    let mut evidence = vec![least(PILES_UP, of.piles_up?, MOSTLY)];
    evidence.extend(of.out_of_order.map(|share| most(LATE, share, MANY_LATE)));
    Some(evidence)
}

/// Evidence that the receiving program has no time left, which is given, with data that wait for it. Of a connection they are
/// so many that its window closes: fewer hold nothing back.
pub(super) fn has_no_time(signals: &Signals, no_time: Evidence) -> Option<Vec<Evidence>> {
    let of = signals.program(Role::Receiver)?;
    let mut evidence = match of.dropped.filter(|share| *share >= DROPPED) {
        Some(share) => vec![least(DROPS, share, DROPPED)],
        None if signals.is_tcp => piled_up(&of)?,
        None => vec![least(UNREAD, of.unread?, MOSTLY)],
    };
    evidence.push(no_time);
    Some(evidence)
}

/// Datagrams for which the receiving socket has no room.
pub(super) fn overflows(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let share = signals.program(Role::Receiver)?.dropped?;
    Some(row.shown(0.9, least(DROPS, share, DROPPED)))
}

/// Datagrams that the host cannot put together.
pub(super) fn gives_up(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let share = signals.program(Role::Receiver)?.given_up?;
    let counter = "fragments whose datagram the host gave up (IpReasmFails)";
    let found = row.shown(0.9, least(counter, share, DROPPED));
    let found = found.with_detail("too little memory for their reassembly");
    let remedy = "raise net.ipv4.ipfrag_high_thresh, or send datagrams that fit the MTU";
    Some(found.with_remedy(remedy))
}

/// Requests one at a time, each of which waits for the answer to the one before.
pub(super) fn in_turns(
    signals: &Signals,
    of: &Foreign,
    row: &'static LimiterRow,
) -> Option<Candidate> {
    let turns = of.turns?;
    let counter = "data segments in the other direction for each round trip";
    let mut evidence = vec![
        least_of(counter, turns, "", TURNS[0]),
        most_of(counter, turns, "", TURNS[1]),
    ];
    evidence.extend(match of.role {
        Role::Sender => offers_little(signals, of)?,
        Role::Receiver => vec![most(UNREAD, of.unread?, MOSTLY)],
    });
    let found = row.suspect(0.75, evidence);
    Some(found.with_detail("one request at a time: each waits for the answer to the one before"))
}

/// The receiving end, where the one that sends, which knows its windows and losses, was not read.
fn receives_alone(signals: &Signals) -> Option<Foreign> {
    let is_alone = signals.program(Role::Sender).is_none();
    signals.program(Role::Receiver).filter(|_| is_alone)
}

/// The window that this end announces, of which all is under way.
pub(super) fn window_is_full(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let of = receives_alone(signals)?;
    let evidence = vec![
        least(
            "data under way of the window that this end announces",
            of.window_use?,
            FULL,
        ),
        most(UNREAD, of.unread?, MOSTLY),
    ];
    Some(row.suspect(0.66, evidence))
}

/// Segments that arrive out of order, because those before them were lost.
pub(super) fn arrives_late(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let of = receives_alone(signals)?;
    let mut evidence = vec![least(LATE, of.out_of_order?, 0.001)];
    // The queue of a line that is full drops some, too.
    let counter = "round-trip time at the receiver ÷ its minimum";
    evidence.extend(of.queueing.map(|one| most_of(counter, one, "", QUEUEING)));
    let busy = signals.receiver.map(|times| times.busy());
    evidence.extend(busy.map(|busy| most("receiver on a CPU or waiting for one", busy, BUSY)));
    Some(row.suspect(0.58, evidence))
}

/// A queue of this host that is not empty for most of the time.
pub(super) fn waits_here(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let of = signals.program(Role::Sender)?;
    let hop = signals.hops.iter().find(|hop| hop.is_own)?;
    let counter = format!("packets waiting in {} at {}", hop.kind, hop.name);
    let found = row.shown(0.6, least(counter, of.queued?, MOSTLY));
    Some(found.at(format!("at {}", hop.name)))
}

/// A rate that the program itself set for its connection.
pub(super) fn is_capped(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let share = signals.program(Role::Sender)?.of_cap?;
    let counter = "rate of what SO_MAX_PACING_RATE allows";
    let found = row.shown(0.89, least(counter, share, KEPT));
    let found = found.with_detail("the program sets SO_MAX_PACING_RATE");
    Some(found.with_remedy("raise the rate that the program sets for its connection"))
}

fn offers_little(signals: &Signals, of: &Foreign) -> Option<Vec<Evidence>> {
    let tcp = &signals.tcp;
    let buffers = tcp.sndbuf_limited.unwrap_or(0.0) + tcp.rwnd_limited.unwrap_or(0.0);
    let counter = "busy time limited by a buffer (tcpi_sndbuf_limited, tcpi_rwnd_limited)";
    let used = tcp.buffer_use.unwrap_or(0.0);
    let share = signals.idle.map(|idle| 1.0 - idle);
    Some(vec![
        least(SPARE, of.spare?, MOSTLY),
        most(counter, buffers, BUFFER),
        match share.filter(|share| *share < ALWAYS) {
            Some(share) => most(UNDER_WAY, share, ALWAYS),
            None => most("send buffer in use", used, NOT_FULL),
        },
    ])
}

/// Evidence that data are always under way, as where the program waits for room in its send buffer.
pub(super) fn always_sends(signals: &Signals) -> Option<Evidence> {
    signals.program(Role::Sender)?;
    Some(least(UNDER_WAY, 1.0 - signals.idle?, ALWAYS))
}

/// Windows that begin again after idle times, and then hold back what the program writes.
pub(super) fn after_idle_times(signals: &Signals, row: &'static LimiterRow) -> Option<Candidate> {
    let of = signals.program(Role::Sender).filter(|_| signals.tcp.halves);
    let counter = "falls of the congestion window to half, full and with nothing sent again";
    let found = row.shown(0.87, least_of(counter, of?.begins?, "", 2.0));
    let found = found.with_detail("after an idle time it begins again with few segments");
    Some(found.with_remedy("net.ipv4.tcp_slow_start_after_idle=0 at the sender"))
}

/// Evidence that a connection whose congestion window grows is held by it, and not by its program.
pub(super) fn is_offered(signals: &Signals) -> Option<Evidence> {
    Some(most(SPARE, signals.program(Role::Sender)?.spare?, MOSTLY))
}
