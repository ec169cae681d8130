//! Windows and buffers of a connection, and the send buffer of datagrams.

use super::evidence::{STEADY, least, least_of, most, most_of};
use super::lost::RETRANSMITTED;
use super::path::QUEUEING;
use crate::explain::limiter::{Candidate, LimiterRow};
use crate::explain::signals::Signals;

/// Share of the connection's busy time that the kernel calls limited by a buffer.
const BUFFER_LIMITED: f64 = 0.25;

/// A congestion window is full if this share of it is in use, which segments in flight fill in steps.
const CWND_FULL: f64 = 0.8;

/// The largest congestion window ÷ the smallest, up to which it stands still.
const STANDS: f64 = 1.05;

/// From this share of samples that find it full, the kernel would let it grow.
const FILLED: f64 = 0.25;

pub static SLOW_START: LimiterRow = LimiterRow {
    name: "congestion_window_slow_start",
    title: "congestion window (slow start)",
    remedy: "measure for longer, or begin with a longer warm-up",
    evidence: "the rate of the last third is over 1.6 × that of the first, and the connection is in slow start at the end",
    suspects: |signals, found| found.extend(slow_start(signals)),
};

pub static CLAMP: LimiterRow = LimiterRow {
    name: "congestion_window_clamp",
    title: "congestion window (held at one value)",
    remedy: "find what holds it: `cwnd` with `lock` in `ip route get ADDRESS` (then `ip tcp_metrics flush`), or a BPF program; more flows have a window each",
    evidence: "congestion window the same in all samples within 5 %, and full in 25 % of them; reno or cubic, and as many round trips as it has segments, or the kernel's metrics of the peer (`ip tcp_metrics`) have this window",
    suspects: |signals, found| found.extend(clamp(signals)),
};

pub static RECEIVE_BUFFER: LimiterRow = LimiterRow {
    name: "receive_buffer",
    title: "receive buffer (receive window)",
    remedy: "raise the receive buffer (--receive-buffer), or leave it to the kernel; raise the maximum of net.ipv4.tcp_rmem (--tcp-buffers) at the receiver",
    evidence: "25 % of the busy time (`tcpi_rwnd_limited`), and no less than the share limited by the send buffer",
    suspects: |signals, found| {
        let other = signals.tcp.sndbuf_limited.unwrap_or(0.0);
        let limited = signals.tcp.rwnd_limited.filter(|share| *share >= other);
        found.extend(limited.map(|share| {
            let counter = "busy time limited by the receive window (tcpi_rwnd_limited)";
            RECEIVE_BUFFER.suspect(0.65, vec![least(counter, share, BUFFER_LIMITED)])
        }));
    },
};

pub static SEND_BUFFER: LimiterRow = LimiterRow {
    name: "send_buffer",
    title: "send buffer",
    remedy: "raise the send buffer (--send-buffer), or leave it to the kernel; raise the maximum of net.ipv4.tcp_wmem (--tcp-buffers) at the sender",
    evidence: "25 % of the busy time (`tcpi_sndbuf_limited`), and more than the share limited by the receive window; or at most 15 % of what waits in the socket unsent, the send buffer 50 % in use, and the congestion window at most 80 %",
    suspects: |signals, found| {
        let other = signals.tcp.rwnd_limited.unwrap_or(-1.0);
        let limited = signals.tcp.sndbuf_limited.filter(|share| *share > other);
        found.extend(limited.map(|share| {
            let counter = "busy time limited by the send buffer (tcpi_sndbuf_limited)";
            SEND_BUFFER.suspect(0.65, vec![least(counter, share, BUFFER_LIMITED)])
        }));
        found.extend(full_buffer(signals));
    },
};

pub static CONGESTION_LOSS: LimiterRow = LimiterRow {
    name: "congestion_window_loss",
    title: "congestion window (loss)",
    remedy: "find where segments are lost; try a congestion control that tolerates loss (bbr)",
    evidence: "over 0.1 % retransmitted, round-trip time under 1.5 × its smallest value",
    suspects: |signals, found| found.extend(losing(signals)),
};

fn slow_start(signals: &Signals) -> Option<Candidate> {
    let (trend, in_slow_start) = signals.trend.zip(signals.tcp.in_slow_start)?;
    let counter = "rate of the last third ÷ first third";
    let found = SLOW_START.suspect(1.0, vec![least_of(counter, trend, "", STEADY)]);
    in_slow_start.then(|| found.of_change())
}

fn clamp(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    tcp.grows_when_full.filter(|grows| *grows)?;
    let spread = "congestion window, the largest ÷ the smallest";
    let filled = "samples that find the congestion window full";
    let evidence = vec![
        most_of(spread, tcp.cwnd_spread?, "", STANDS),
        least(filled, tcp.cwnd_filled?, FILLED),
    ];
    let detail = format!("{:.0} segments", tcp.cwnd_segments?);
    let found = CLAMP.suspect(0.86, evidence).with_detail(detail);
    Some(found.of_change())
}

fn full_buffer(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    let evidence = vec![
        most("unsent of what waits in the socket", tcp.unsent?, 0.15),
        least("send buffer in use", tcp.buffer_use?, 0.5),
        most("congestion window in use", tcp.cwnd_use?, CWND_FULL),
    ];
    Some(SEND_BUFFER.suspect(0.62, evidence))
}

/// The congestion window, kept small by loss at an unknown place.
fn losing(signals: &Signals) -> Option<Candidate> {
    let tcp = &signals.tcp;
    let evidence = vec![
        least("retransmitted segments", tcp.retransmitted?, RETRANSMITTED),
        most_of("round-trip time ÷ its minimum", tcp.queueing?, "", QUEUEING),
    ];
    Some(CONGESTION_LOSS.suspect(0.6, evidence).of_change())
}
