//! Windows and buffers of a connection, and the send buffer of datagrams.

use super::application::{
    after_idle_times, always_sends, arrives_late, is_offered, window_is_full,
};
use super::evidence::{EXPLAINED, STEADY, least, least_of, most};
use super::lost::{OF_TIMERS, RETRANSMITTED, losses};
use super::path::stays;
use crate::explain::limiter::{Candidate, LimiterRow};
use crate::explain::signals::Signals;
use crate::explain::tcp::SET;

/// Share of the connection's busy time that the kernel calls limited by a buffer.
const BUFFER_LIMITED: f64 = 0.25;

/// A congestion window is full if this share of it is in use, which segments in flight fill in steps.
const CWND_FULL: f64 = 0.8;

/// Share of segments with a congestion mark from which on a queue would have to show in the round-trip time.
const MARKED: f64 = 0.02;

/// From this share of the time, what the window waits for are lost segments.
const RECOVERS: f64 = 0.5;

/// Round trips of a request, falls of its window, and the share of time in retransmission timers, where pauses make it slow.
const TRIPS: f64 = 2.0;
const FALLS: f64 = 2.0;
const RESENDS: f64 = 0.05;

pub static SLOW_START: LimiterRow = LimiterRow {
    name: "congestion_window_slow_start",
    title: "congestion window (slow start)",
    remedy: "measure for longer, or begin with a longer warm-up",
    evidence: "the rate of the last third is over 1.6 × that of the first, and the connection is in slow start at the end; or requests at a requested rate take two round trips, the congestion window, not of BBR, falls to half twice, and retransmission timers take 5 % of the time at most",
    suspects: |signals, found| {
        found.extend(slow_start(signals));
        found.extend(after_pauses(signals));
        found.extend(after_idle_times(signals, &SLOW_START));
    },
};

pub static RECEIVE_BUFFER: LimiterRow = LimiterRow {
    name: "receive_buffer",
    title: "receive buffer (receive window)",
    remedy: "raise the receive buffer (--receive-buffer), or leave it to the kernel; raise the maximum of net.ipv4.tcp_rmem (--tcp-buffers) at the receiver",
    evidence: "25 % of the busy time (`tcpi_rwnd_limited`), and no less than the share limited by the send buffer; in recovery from loss at most 50 % of the time; or enough is lost, half as much thrown away by the receiver's TCP (`BeyondWindow`, `TCPRcvQDrop`, `RcvPruned`)",
    suspects: |signals, found| {
        found.extend(receive_window(signals));
        found.extend(window_is_full(signals, &RECEIVE_BUFFER));
    },
};

pub static SEND_BUFFER: LimiterRow = LimiterRow {
    name: "send_buffer",
    title: "send buffer",
    remedy: "raise the send buffer (--send-buffer), or leave it to the kernel; raise the maximum of net.ipv4.tcp_wmem (--tcp-buffers) at the sender",
    evidence: "25 % of the busy time (`tcpi_sndbuf_limited`), and more than the share limited by the receive window; or at most 15 % of what waits in the socket unsent, the send buffer 50 % in use, the congestion window at most 80 %, and of another program's connections data under way 90 % of the time",
    suspects: |signals, found| {
        let tcp = &signals.tcp;
        let other = tcp.rwnd_limited.unwrap_or(-1.0);
        let limited = tcp.sndbuf_limited.filter(|share| *share > other);
        let limited = limited.map(|share| {
            let counter = "busy time limited by the send buffer (tcpi_sndbuf_limited)";
            SEND_BUFFER.shown(0.65, least(counter, share, BUFFER_LIMITED))
        });
        let all = limited.into_iter().chain(full_buffer(signals));
        let detail = if tcp.sets_send_buffer { SET } else { "" };
        found.extend(all.map(|one| one.with_detail(detail)));
    },
};

pub static CONGESTION_MARKS: LimiterRow = LimiterRow {
    name: "congestion_window_marks",
    title: "congestion window (congestion marks)",
    remedy: "find the device that marks packets (ECN) without a queue; without marks: net.ipv4.tcp_ecn=0 at an end",
    evidence: "reno or cubic; 2 % of the segments that arrive have a congestion mark (`tcpi_delivered_ce`), and the round-trip time has not grown",
    suspects: |signals, found| found.extend(marked(signals)),
};

const NO_SACK: &str =
    "no selective acknowledgements: each lost segment takes a round trip of its own";

pub static CONGESTION_LOSS: LimiterRow = LimiterRow {
    name: "congestion_window_loss",
    title: "congestion window (loss)",
    remedy: "find where segments are lost; try a congestion control that tolerates loss (bbr)",
    evidence: "over 0.1 % retransmitted by another congestion control than BBR, or enough lost while 80 % of the window is in use; the round-trip time has not grown",
    suspects: |signals, found| {
        found.extend(losing(signals));
        found.extend(arrives_late(signals, &CONGESTION_LOSS));
        found.extend(growing_back(signals));
    },
};

fn slow_start(signals: &Signals) -> Option<Candidate> {
    let (trend, in_slow_start) = signals.trend.zip(signals.tcp.in_slow_start)?;
    let counter = "rate of the last third ÷ first third";
    let mut evidence = vec![least_of(counter, trend, "", STEADY)];
    evidence.extend(is_offered(signals));
    in_slow_start.then(|| SLOW_START.suspect(1.0, evidence))
}

/// Windows of requests that begin again after each pause, as no loss makes them.
fn after_pauses(signals: &Signals) -> Option<Candidate> {
    let requests = signals.transactions?;
    let begins = requests.restarts?;
    let evidence = vec![
        least_of("latency ÷ round-trip time", begins.trips, "", TRIPS),
        least_of(
            "falls of the congestion window to half",
            begins.falls,
            "",
            FALLS,
        ),
        most(OF_TIMERS, requests.resending?, RESENDS),
    ];
    let detail = format!(
        "after an idle time it begins again with {} segments; {:.1} round trips for each request",
        begins.least, begins.trips
    );
    Some(SLOW_START.suspect(0.87, evidence).with_detail(detail))
}

fn full_buffer(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    let mut evidence = vec![
        most("unsent of what waits in the socket", tcp.unsent?, 0.15),
        least("send buffer in use", tcp.buffer_use?, 0.5),
        most("congestion window in use", tcp.cwnd_use?, CWND_FULL),
    ];
    evidence.extend(always_sends(signals));
    // A connection starts slowly, however little the buffer holds.
    Some(SEND_BUFFER.suspect(0.62, evidence))
}

fn receive_window(signals: &Signals) -> Vec<Candidate> {
    let tcp = &signals.tcp;
    let other = tcp.sndbuf_limited.unwrap_or(0.0);
    let limited = tcp.rwnd_limited.filter(|share| *share >= other);
    let limited = limited.map(|share| {
        let counter = "busy time limited by the receive window (tcpi_rwnd_limited)";
        let mut evidence = vec![least(counter, share, BUFFER_LIMITED)];
        // What follows a lost segment waits in the window for it.
        let recovering = tcp.recovering.into_iter();
        evidence.extend(recovering.map(|share| most("time in recovery", share, RECOVERS)));
        RECEIVE_BUFFER.suspect(0.65, evidence)
    });
    let thrown = tcp.thrown.zip(losses(tcp)).map(|(thrown, losses)| {
        let counter = "segments that the receiver's TCP threw away ÷ retransmitted segments";
        let evidence = vec![least(counter, thrown, EXPLAINED), losses];
        RECEIVE_BUFFER.suspect(0.7, evidence)
    });
    let [detail, remedy] = tcp.window.unwrap_or_default();
    let remedy = Some(remedy).filter(|remedy| !remedy.is_empty());
    let ways = limited.into_iter().chain(thrown);
    ways.map(|found| Candidate {
        remedy: remedy.map(str::to_owned),
        ..found.with_detail(detail)
    })
    .collect()
}

/// Marks that no queue explains.
fn marked(signals: &Signals) -> Option<Candidate> {
    // DCTCP and the like keep a short queue by marks.
    signals.tcp.answers_marks_by_half.then_some(())?;
    let counter = "segments with a congestion mark (tcpi_delivered_ce)";
    let marked = least(counter, signals.tcp.marked?, MARKED);
    Some(CONGESTION_MARKS.suspect(0.87, vec![marked, stays(signals)?]))
}

/// The congestion window of another program's connection that lost before it was read, and grows since.
fn growing_back(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    let has_started = tcp.in_slow_start == Some(false) && tcp.halves;
    let again = "segments sent again since the connection began";
    let evidence = vec![
        is_offered(signals).filter(|_| has_started)?,
        least_of(again, tcp.sent_again?, "", 1.0),
        least("congestion window in use", tcp.cwnd_use?, CWND_FULL),
        stays(signals)?,
    ];
    let found = CONGESTION_LOSS.suspect(0.57, evidence);
    Some(found.with_detail("it grows back slowly after losses"))
}

/// The congestion window, kept small by loss at an unknown place.
fn losing(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    let mut evidence = vec![losses(tcp)?, stays(signals).filter(|_| tcp.halves)?];
    if tcp.retransmitted? < RETRANSMITTED {
        evidence.push(least("congestion window in use", tcp.cwnd_use?, CWND_FULL));
    }
    let detail = if tcp.sack == Some(false) { NO_SACK } else { "" };
    Some(CONGESTION_LOSS.suspect(0.6, evidence).with_detail(detail))
}
