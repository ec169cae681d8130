//! What a link does to the packets of one direction: rate, delay, jitter, loss, order, copies, and how many may wait.

use serde::{Deserialize, Serialize};

/// Millionths in a whole: a probability of 1 % is 10 000 of them.
pub const PPM: u32 = 1_000_000;

/// What one direction of a link does to its packets, in this order: the queue takes or drops a packet, the rate lets it
/// go, and the delay holds it. The default does nothing.
///
/// A *packet* is what the device is handed: with segmentation offload a super-packet of up to 64 KiB counts once, as
/// netem counts it. A loss or a copy is drawn for each packet, independently (tc-netem(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shaping {
    /// Most bits of frames per second, from the destination address on, without checksum, preamble and gap; absent: no
    /// limit.
    pub rate_bps: Option<u64>,
    /// Bytes that may leave at once behind an idle time; absent: what the shaper takes by itself. Only where the kernel
    /// shapes.
    pub burst_bytes: Option<u32>,
    /// Which of the kernel's shapers keeps the rate.
    pub shaper: Shaper,
    /// How long each packet is held, in microseconds.
    pub delay_us: u64,
    /// How far the delay varies: uniform from `delay_us - jitter_us` to `delay_us + jitter_us`, never under 0.
    pub jitter_us: u64,
    /// Share of packets that are dropped, in millionths.
    pub loss_ppm: u32,
    /// Share of packets that are sent at once instead of being held, in millionths; without effect where nothing is held.
    pub reorder_ppm: u32,
    /// Share of packets that are sent twice, in millionths.
    pub duplicate_ppm: u32,
    /// Most that may wait here, held packets included, as netem counts them; what comes on top is dropped. Absent: see
    /// [`Shaping::room`].
    pub queue_limit: Option<QueueLimit>,
}

/// Which of the kernel's shapers keeps a rate without delay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shaper {
    /// The token bucket filter. It cuts super-packets that are longer than its burst.
    #[default]
    Tbf,
    /// The hierarchical token bucket with one class. It passes super-packets whole.
    Htb,
}

/// Who delays, loses, copies and reorders packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DelayBackend {
    /// netem where the kernel has it, else the delay line.
    #[default]
    Auto,
    /// The kernel's netem.
    Netem,
    /// bitcost's own delay line.
    Builtin,
}

impl DelayBackend {
    /// The names that lab files and the command line use.
    pub const NAMES: [&str; 3] = ["auto", "netem", "builtin"];

    /// The backend of this name.
    pub fn named(name: &str) -> Option<DelayBackend> {
        let all = [DelayBackend::Auto, DelayBackend::Netem, DelayBackend::Builtin];
        DelayBackend::NAMES.into_iter().zip(all).find(|(known, _)| *known == name).map(|(_, backend)| backend)
    }
}

/// How many may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// So many packets, a super-packet counting once, as netem and pfifo do.
    Packets(u32),
    /// So many segments: a super-packet counts as many as it will be cut into.
    Segments(u32),
    /// So many bytes of frames, as tbf and bfifo do.
    Bytes(u64),
}

/// How long a shaped direction lets packets wait for its rate where no queue limit is asked, in microseconds.
const ROOM_US: u64 = 50_000;
/// The least room, in bytes: two super-packets of 64 KiB.
const ROOM_LEAST_BYTES: u64 = 131_072;

impl Shaping {
    /// Whether it does nothing at all.
    pub fn is_nothing(&self) -> bool {
        *self == Shaping::default()
    }

    /// Whether it needs more than the kernel's shapers and queues: netem or a delay line.
    pub fn needs_emulator(&self) -> bool {
        self.delay_us > 0
            || self.jitter_us > 0
            || self.loss_ppm > 0
            || self.reorder_ppm > 0
            || self.duplicate_ppm > 0
            || (matches!(self.queue_limit, Some(QueueLimit::Segments(_))))
    }

    /// The queue limit in force: the one asked for; else with a rate the bytes of the delay and 50 ms at that rate, two
    /// super-packets at least; else none.
    pub fn room(&self) -> Option<QueueLimit> {
        let bytes_of = |rate_bps: u64| {
            let time_us = u128::from(self.delay_us + self.jitter_us + ROOM_US);
            let bytes = u128::from(rate_bps) * time_us / 8_000_000;
            QueueLimit::Bytes(u64::try_from(bytes).unwrap_or(u64::MAX).max(ROOM_LEAST_BYTES))
        };
        self.queue_limit.or(self.rate_bps.map(bytes_of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_follows_rate_and_delay() {
        let mut shaping = Shaping { delay_us: 20_000, ..Shaping::default() };
        assert_eq!(shaping.room(), None);
        shaping.rate_bps = Some(1_000_000_000);
        assert_eq!(shaping.room(), Some(QueueLimit::Bytes(8_750_000)));
        shaping.rate_bps = Some(1_000_000);
        assert_eq!(shaping.room(), Some(QueueLimit::Bytes(131_072)));
        shaping.queue_limit = Some(QueueLimit::Packets(1000));
        assert_eq!(shaping.room(), Some(QueueLimit::Packets(1000)));
    }

    #[test]
    fn a_rate_alone_is_the_kernels() {
        let rate = Shaping { rate_bps: Some(1), queue_limit: Some(QueueLimit::Bytes(1)), ..Shaping::default() };
        assert!(!rate.needs_emulator() && !rate.is_nothing());
        assert!(Shaping { loss_ppm: 1, ..Shaping::default() }.needs_emulator());
    }
}
