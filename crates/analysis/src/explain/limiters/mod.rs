//! The table of limiters: one row each, with the evidence for it.
//!
//! The strengths order what holds at the same time: a counter of the limit itself says more than a thread that has no time
//! left, and that more than a full window, which has many causes. Where all evidence of a limiter holds, the strength is
//! from 0.5 on.

mod application;
mod beside;
mod cards;
mod ends;
mod evidence;
mod lost;
mod packets;
mod path;
mod requests;
mod stopped;
mod windows;

use serde::{Deserialize, Deserializer};

use evidence::most_of;

use crate::explain::limiter::{Candidate, Limiter, LimiterRow, Placed};
use crate::explain::signals::Signals;

pub use ends::quota_of;
pub(crate) use ends::{PACKETS_PER_SECOND, RECEIVER_CPU, SENDER_CPU};
pub(crate) use evidence::{LOSS_PCT, STEADY};
pub(crate) use packets::MTU_BLACK_HOLE;

pub static LIMITERS: [&LimiterRow; 37] = [
    &stopped::PAUSED,
    &stopped::DISK,
    &packets::MTU_BLACK_HOLE,
    &beside::ACK_PATH,
    &windows::SLOW_START,
    &beside::COMPETING,
    &path::RATE,
    &ends::SLOW_READER,
    &RECEIVER_CPU,
    &lost::UDP_RECEIVE_BUFFER,
    &lost::QUEUE_OVERFLOW,
    &lost::PATH_LOSS,
    &ends::CPU_QUOTA,
    &ends::APPLICATION_PACING,
    &packets::FRAGMENTS,
    &requests::WAKE_UPS,
    &PACKETS_PER_SECOND,
    &SENDER_CPU,
    &requests::LATENCY,
    &windows::RECEIVE_BUFFER,
    &windows::SEND_BUFFER,
    &windows::CONGESTION_MARKS,
    &windows::CONGESTION_LOSS,
    &application::NAGLE,
    &application::ACCEPT_QUEUE,
    &application::CONNECTION_SETUP,
    &application::SMALL_MESSAGES,
    &application::SOCKET_MEMORY,
    &application::SENDER_APPLICATION,
    &application::RECEIVER_APPLICATION,
    &cards::RECEIVE_QUEUE,
    &cards::RING_OVERFLOW,
    &cards::PAUSE_FRAMES,
    &cards::LINK_MODE,
    &cards::FAR_NODE,
    &cards::FIXED_OFFLOADS,
    &UNKNOWN,
];

pub fn limiter(name: &str, place: &str) -> Option<Limiter> {
    let row = LIMITERS.into_iter().find(|row| row.name == name)?;
    Some(row.placed(place))
}

impl<'de> Deserialize<'de> for Limiter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Limiter, D::Error> {
        let placed = Placed::deserialize(from)?;
        let unknown = || serde::de::Error::custom(format!("no limiter {}", placed.limiter));
        limiter(&placed.limiter, &placed.place).ok_or_else(unknown)
    }
}

/// No limiter has all its evidence.
pub(crate) static UNKNOWN: LimiterRow = LimiterRow {
    name: "unknown",
    title: "unknown",
    remedy: "measure for longer, or with experiments (--prove)",
    evidence: "",
    suspects: |_, _| {},
};

/// Every limiter of which there are facts, each with its evidence. What holds a rate does not explain one that changes.
pub(crate) fn suspects(signals: &Signals) -> Vec<Candidate> {
    let change = signals.trend.map_or(1.0, |trend| trend.max(1.0 / trend));
    let mut all = Vec::new();
    LIMITERS
        .iter()
        .for_each(|row| (row.suspects)(signals, &mut all));
    let unexplained = all.iter_mut().filter(|found| !found.explains_change);
    for found in unexplained.filter(|_| change > STEADY) {
        let counter = "change of the rate, a factor of";
        found.evidence.push(most_of(counter, change, "", STEADY));
    }
    all
}
