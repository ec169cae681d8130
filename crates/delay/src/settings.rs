//! What a delay line does to the packets of one direction, with the meaning that netem gives to each setting.

use serde::{Deserialize, Serialize};

/// One direction of a delay line. The default lets everything pass at once.
///
/// Probabilities are from 0 to 1, of packets as they come: a super-packet is one, as in netem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// How long each packet is held, in ns.
    pub delay_ns: u64,
    /// The delay varies by up to this, either way and evenly, in ns. Packets overtake each other by it.
    pub jitter_ns: u64,
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet comes twice.
    pub duplicate: f64,
    /// Probability that a packet passes at once instead of being delayed.
    pub reorder: f64,
    /// Bits per second of frames with their Ethernet headers; absent: no limit.
    pub rate_bps: Option<u64>,
    /// What the line can hold, delayed packets and waiting ones together; absent: no limit.
    pub limit: Option<Limit>,
}

/// What a direction of a delay line can hold; what does not fit is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Packets as they come, as netem counts: a super-packet is one.
    Packets(u64),
    /// Segments: a super-packet counts as often as it has some.
    Segments(u64),
    /// Bytes of frames with their Ethernet headers.
    Bytes(u64),
}

impl Settings {
    /// The shortest time that a packet may be held, in ns.
    pub fn least_delay_ns(&self) -> u64 {
        if self.reorder > 0.0 { 0 } else { self.delay_ns.saturating_sub(self.jitter_ns) }
    }
}
