//! The regimes of a stream of TCP: how much its packets carried, at which rate and cost, and what the
//! kernel says that limited it meanwhile.
//!
//! The same calls may have each message pushed through both stacks as a separate packet, or have
//! messages gather behind a full window and leave as full packets. A run may go from one to the other.

use bitcost_model::conditions::{Conditions, Workload};

use super::levels::split;
use super::signals::{Signals, intervals};
use crate::metrics::{
    RunView, between_samples, bytes_between, full_from, interface_shows_packets, metric,
};

/// The least ratio of the bytes per packet of two parts of a run that are of two regimes.
const APART: f64 = 1.5;

/// From this share of the busy time, window or send buffer is named.
const LIMITED: f64 = 0.25;

/// A message of this many bytes fills packets alone.
const LARGE: f64 = 32_768.0;

/// Rate and cost, which two regimes have apart.
const FIGURES: [&str; 3] = [
    "throughput_mbps",
    "send_service_demand_us_per_kib",
    "receive_service_demand_us_per_kib",
];

/// A run, or the part of it that is of one regime.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regime {
    /// Its share of the run's time.
    pub share: f64,
    /// Throughput, in Mbit/s.
    pub mbps: f64,
    /// CPU time of the sender and of the receiver, in µs/KiB; absent where it is not known.
    pub costs: [Option<f64>; 2],
    /// User data per packet of the sender, in bytes.
    pub bytes_per_packet: f64,
    /// Size of a message, in bytes.
    pub message_bytes: f64,
    /// Share of the busy time that the receive window limited; absent where the kernel does not
    /// report it.
    pub window_limited: Option<f64>,
    /// Share of the busy time that the send buffer limited.
    pub buffer_limited: Option<f64>,
    /// Whether packets are full.
    pub is_full: bool,
}

impl Regime {
    /// `window-limited, full packets`, or `one message a packet`.
    pub fn words(&self) -> String {
        let limited = [
            (self.window_limited, "window-limited, "),
            (self.buffer_limited, "limited by the send buffer, "),
        ];
        let by = limited
            .into_iter()
            .find(|(share, _)| share.is_some_and(|share| share >= LIMITED));
        match (self.is_full, by) {
            (true, by) => format!("{}full packets", by.map_or("", |(_, words)| words)),
            (false, _) if self.message_bytes < LARGE => "one message a packet".to_owned(),
            (false, _) => format!("packets of {:.0} KiB", self.bytes_per_packet / 1024.0),
        }
    }

    fn new(conditions: &Conditions, bytes_per_packet: f64, signals: &Signals) -> Regime {
        Regime {
            share: 1.0,
            mbps: 0.0,
            costs: [None; 2],
            bytes_per_packet,
            message_bytes: f64::from(conditions.message_size_bytes),
            window_limited: signals.tcp.rwnd_limited,
            buffer_limited: signals.tcp.sndbuf_limited,
            is_full: bytes_per_packet >= full_from(conditions),
        }
    }
}

/// The regimes of a run, the longer first: one, or two that follow or alternate; none where the run is
/// not a stream of TCP alone, or its packets are not known.
pub fn regimes(run: &RunView) -> Vec<Regime> {
    if run.conditions.workload != Workload::TcpStream || !run.is_alone() {
        return Vec::new();
    }
    let parts = split(run).filter(|_| interface_shows_packets(run));
    let parts = parts.and_then(|(_, parts)| {
        let [one, other] = parts.map(|part| of_part(run, &part));
        one.zip(other)
    });
    if let Some((one, other)) = parts {
        let ratio = one.bytes_per_packet / other.bytes_per_packet;
        if !(1.0 / APART..APART).contains(&ratio) {
            return match one.share >= other.share {
                true => vec![one, other],
                false => vec![other, one],
            };
        }
    }
    whole(run).into_iter().collect()
}

fn whole(run: &RunView) -> Option<Regime> {
    let figure = |name: &str| (metric(name)?.compute)(run);
    let all: Vec<usize> = (0..intervals(run)).collect();
    let bytes = figure("sender_bytes_per_packet")?;
    let [mbps, send, receive] = FIGURES.map(figure);
    Some(Regime {
        mbps: mbps?,
        costs: [send, receive],
        ..Regime::new(run.conditions, bytes, &Signals::of(run, &all))
    })
}

/// The regime of some of a run's intervals; its figures are of the longest stretch of them.
fn of_part(run: &RunView, picked: &[usize]) -> Option<Regime> {
    let samples = &run.sender.samples;
    let pairs = picked
        .iter()
        .map(|index| [&samples[*index], &samples[index + 1]]);
    let bytes = bytes_between(pairs)?;
    let [mbps, send, receive] = between_samples(run, longest(picked)?, FIGURES);
    Some(Regime {
        share: picked.len() as f64 / intervals(run) as f64,
        mbps: mbps?,
        costs: [send, receive],
        ..Regime::new(run.conditions, bytes, &Signals::of(run, picked))
    })
}

/// The first and the last sample of the longest stretch of consecutive intervals.
fn longest(picked: &[usize]) -> Option<(usize, usize)> {
    let stretches = picked.chunk_by(|one, next| one + 1 == *next);
    let longest = stretches.max_by_key(|stretch| stretch.len())?;
    Some((*longest.first()?, longest.last()? + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_stretch_is_between_its_first_and_last_sample() {
        assert_eq!(longest(&[0, 1, 4, 5, 6, 9]), Some((4, 7)));
        assert_eq!(longest(&[]), None);
    }

    #[test]
    fn a_regime_without_the_kernels_shares_is_told_by_its_packets() {
        let conditions = Conditions {
            message_size_bytes: 8192,
            ..Conditions::default()
        };
        let mut signals = Signals::default();
        let words =
            |bytes: f64, signals: &Signals| Regime::new(&conditions, bytes, signals).words();
        assert_eq!(words(5000.0, &signals), "one message a packet");
        assert_eq!(words(40_000.0, &signals), "full packets");
        signals.tcp.rwnd_limited = Some(0.6);
        assert_eq!(words(40_000.0, &signals), "window-limited, full packets");
        assert_eq!(words(5000.0, &signals), "one message a packet");
    }
}
