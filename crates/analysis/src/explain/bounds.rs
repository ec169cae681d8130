//! Bounds that several limiters share: set on the scenarios of `cargo xtask confusion` that are not kept apart, checked on
//! its variants.
//!
//! Shares are of wall time unless a name says otherwise.

/// Least number of intervals between samples.
pub const INTERVALS_MIN: usize = 8;

/// Least length of a run, in seconds.
pub const SECONDS_MIN: f64 = 0.8;

/// The rate is not steady if the rate of the last third ÷ that of the first third is above this, or
/// below 1 ÷ this.
pub const STEADY: f64 = 1.6;

/// From this share of lost datagrams, in per cent, the loss is what is explained.
pub const LOSS_PCT: f64 = 2.0;

/// A counter of drops explains a loss when it counts this share of what was lost.
pub const EXPLAINED: f64 = 0.5;

/// From this run-queue delay, a thread's CPU is contended.
pub const CONTENDED: f64 = 0.25;

/// A thread that is on a CPU or waiting for one for this share has no time left.
pub const BUSY: f64 = crate::metrics::FULL;

/// A sender that sleeps on its socket for at most this share is never held up.
pub const BLOCKED: f64 = 0.15;

/// A receiver that sleeps on its socket for at most this share always has work.
pub const STARVED: f64 = 0.10;

/// Times per second that a shaper holds packets back; fewer at a low rate.
pub const OVERLIMITS: f64 = 100.0;

/// Share of the samples that find packets in a queue, from which the queue is the bottleneck.
pub const STANDING: f64 = 0.5;

/// From this share, a sender is held up by what comes after its socket.
pub const HELD_UP: f64 = 0.3;

/// Share of the connection's busy time that the kernel calls limited by a buffer.
pub const BUFFER_LIMITED: f64 = 0.25;

/// The same share for a congestion window, which segments in flight fill in steps.
pub const CWND_FULL: f64 = 0.8;

/// Share of retransmitted segments from which on loss matters.
pub const RETRANSMITTED: f64 = 0.001;

/// Round-trip time ÷ its minimum from which there is a queue somewhere.
pub const QUEUEING: f64 = 1.5;

/// Least share of the time for which a second limiter is named.
pub const SECOND_SHARE: f64 = 0.2;

/// CPUs that both endpoints share are full when they are at work for this share of the time, as a
/// mean over all of them: threads that wake each other leave gaps.
pub const SHARED: f64 = 0.75;

/// A requested rate is kept if it is missed by at most this share.
pub const RATE_KEPT: f64 = 0.02;

/// An endpoint that is blocked for more than this share of the time waits for its peer rather than
/// for a CPU.
pub const HALF: f64 = 0.5;
