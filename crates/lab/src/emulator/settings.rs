//! The settings of a link emulator for one direction, with the meaning that they have in netem.

use bitcost_model::shaping::QueueLimit;
use serde::{Deserialize, Serialize};

/// The settings of one direction of a link emulator. The default forwards everything at once.
///
/// Probabilities are from 0 to 1, per arriving packet: a super-packet is one, as in netem.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    pub delay_ns: u64,
    /// The delay varies by up to this in both directions, uniformly, in ns. It reorders packets.
    pub jitter_ns: u64,
    pub loss: f64,
    pub duplicate: f64,
    /// Probability that a packet is forwarded at once instead of being delayed, and so reordered.
    pub reorder: f64,
    /// Bits per second of frames with their Ethernet headers; absent for no limit.
    pub rate_bps: Option<u64>,
    /// The most that the emulator can hold, delayed and queued packets together; absent for no
    /// limit.
    pub limit: Option<QueueLimit>,
}

impl Settings {
    /// Bytes that a direction holds at its rate: the product of rate and delay; 0 without a rate.
    pub fn rate_by_delay_bytes(&self) -> u64 {
        let held_ns = u128::from(self.delay_ns) + u128::from(self.jitter_ns);
        let bits = u128::from(self.rate_bps.unwrap_or(0)) * held_ns / 1_000_000_000;
        u64::try_from(bits / 8).unwrap_or(u64::MAX)
    }

    /// The shortest time that a packet may be held, in ns.
    pub fn least_delay_ns(&self) -> u64 {
        match self.reorder > 0.0 {
            true => 0,
            false => self.delay_ns.saturating_sub(self.jitter_ns),
        }
    }
}
