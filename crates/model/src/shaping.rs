//! The shaping of one direction of a link: rate, delay, jitter, loss, order, copies, and the size
//! of its queue.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{parse_bytes, parse_duration};

/// Millionths in a whole: a probability of 1 % is 10 000 of them.
pub const PPM: u32 = 1_000_000;

/// Longest time in a shaping, in microseconds: a minute.
const TIME_MAX_US: u64 = 60_000_000;

/// Longest interrupt moderation, in microseconds: longer than that of any network card.
const MODERATION_MAX_US: u32 = 10_000;

/// The allowed form of [`moderation`], in words.
pub const MODERATION: &str =
    "a time with its unit, such as \"20us\", up to 10 ms; \"0us\" turns it off";
/// The allowed form of [`limit`], in words.
pub const LIMIT: &str = "\"1000 packets\" (a super-packet counts once), \"5000 segments\", or bytes such as \"2500000 B\"";

/// The shaping of one direction of a link, in this order: the queue takes or drops a packet, the
/// rate releases it, and the delay holds it. The default does nothing.
///
/// A *packet* is the unit that the device is handed: with segmentation offload a super-packet of up
/// to 64 KiB counts once, as netem counts it. A loss or a copy is drawn for each packet,
/// independently (tc-netem(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Shaping {
    /// Most bits of frames per second, from the destination address on, without checksum, preamble
    /// and gap; absent: no limit.
    pub rate_bps: Option<u64>,
    /// Bytes that may leave at once after an idle time; absent: the default. Only where the
    /// kernel shapes.
    pub burst_bytes: Option<u32>,
    /// The time for which each packet is held, in microseconds.
    pub delay_us: u64,
    /// The variation of the delay: uniform from `delay_us - jitter_us` to `delay_us + jitter_us`,
    /// never under 0.
    pub jitter_us: u64,
    /// Share of packets that are dropped, in millionths.
    pub loss_ppm: u32,
    /// Share of packets that are sent at once instead of being held, in millionths; without effect
    /// where nothing is held.
    pub reorder_ppm: u32,
    /// Share of packets that are sent twice, in millionths.
    pub duplicate_ppm: u32,
    /// The most that may wait here, held packets included, as netem counts them; packets above the
    /// limit are dropped. Absent: see [`Shaping::room`].
    pub queue_limit: Option<QueueLimit>,
}

words! {
    /// The program that delays, loses, copies and reorders packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum DelayBackend {
        /// netem where the kernel has it, else the link emulator.
        #[default]
        Auto = "auto",
        Netem = "netem",
        /// bitcost's own link emulator.
        Builtin = "builtin",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum QueueLimit {
    /// A number of packets; a super-packet counts once, as in netem and pfifo.
    Packets(u32),
    /// A number of segments; a super-packet counts as the segments that it will be cut into.
    Segments(u32),
    /// A number of bytes of frames, as in tbf and bfifo.
    Bytes(u64),
}

/// The time for which packets may wait for the rate of a shaped direction where no queue limit is
/// requested, in microseconds.
const ROOM_US: u64 = 50_000;
/// The smallest queue, in bytes: two super-packets of 64 KiB.
const ROOM_LEAST_BYTES: u64 = 131_072;

impl Shaping {
    pub fn is_nothing(&self) -> bool {
        *self == Shaping::default()
    }

    /// Whether it needs more than the kernel's shapers and queues: netem or a link emulator.
    pub fn needs_emulator(&self) -> bool {
        self.delay_us > 0
            || self.jitter_us > 0
            || self.loss_ppm > 0
            || self.reorder_ppm > 0
            || self.duplicate_ppm > 0
            || (matches!(self.queue_limit, Some(QueueLimit::Segments(_))))
    }

    /// The queue limit in effect: the requested one; otherwise with a rate the bytes of the delay,
    /// the jitter and 50 ms at that rate, at least two super-packets; otherwise none.
    pub fn room(&self) -> Option<QueueLimit> {
        let bytes_of = |rate_bps: u64| {
            let time_us = u128::from(self.delay_us + self.jitter_us + ROOM_US);
            let bytes = u128::from(rate_bps) * time_us / 8_000_000;
            QueueLimit::Bytes(
                u64::try_from(bytes)
                    .unwrap_or(u64::MAX)
                    .max(ROOM_LEAST_BYTES),
            )
        };
        self.queue_limit.or(self.rate_bps.map(bytes_of))
    }
}

/// A rate as text that reads back exactly: "1G", "2500M", "999bit/s".
pub fn show_rate(bps: u64) -> String {
    let units = [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")];
    match units
        .iter()
        .find(|(scale, _)| bps > 0 && bps.is_multiple_of(*scale))
    {
        Some((scale, unit)) => format!("{}{unit}", bps / scale),
        None => format!("{bps}bit/s"),
    }
}

/// A time as text that reads back exactly: "20ms", "1500us".
pub fn show_time(us: u64) -> String {
    if us.is_multiple_of(1000) {
        format!("{}ms", us / 1000)
    } else {
        format!("{us}us")
    }
}

/// A share in millionths. What is above 0 does not become 0.
pub fn share(text: &str) -> Option<u32> {
    let percent: f64 = text.strip_suffix('%')?.trim().parse().ok()?;
    let ppm = (percent * f64::from(PPM) / 100.0).round();
    let is_lost = percent > 0.0 && ppm == 0.0;
    let is_share = (0.0..=f64::from(PPM)).contains(&ppm) && !is_lost && percent >= 0.0;
    is_share.then_some(ppm as u32)
}

/// A share as text that reads back exactly: "1%".
pub fn show_share(ppm: u32) -> String {
    format!("{}%", f64::from(ppm) / f64::from(PPM / 100))
}

/// A limit as text that reads back exactly.
pub fn show_limit(limit: QueueLimit) -> String {
    match limit {
        QueueLimit::Packets(count) => format!("{count} packets"),
        QueueLimit::Segments(count) => format!("{count} segments"),
        QueueLimit::Bytes(bytes) => format!("{bytes} B"),
    }
}

/// The interval of an interrupt moderation in microseconds.
pub fn moderation(text: &str) -> Option<u32> {
    let us = u32::try_from(time(text)?).ok()?;
    (us <= MODERATION_MAX_US).then_some(us)
}

/// A time in microseconds.
pub fn time(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
    if number.parse() == Ok(0.0) && number != text {
        return Some(0);
    }
    let us = parse_duration(text).ok()?.as_nanos().div_ceil(1000);
    u64::try_from(us).ok().filter(|us| *us <= TIME_MAX_US)
}

pub fn limit(text: &str) -> Option<QueueLimit> {
    let count = |unit: &str| {
        let text = text
            .strip_suffix(unit)
            .or_else(|| text.strip_suffix(&unit[..unit.len() - 1]))?;
        text.trim().parse::<u32>().ok().filter(|count| *count > 0)
    };
    let bytes = || {
        let has_unit = text.parse::<f64>().is_err();
        bytes(text).filter(|_| has_unit).map(QueueLimit::Bytes)
    };
    let packets = count("packets").map(QueueLimit::Packets);
    packets
        .or_else(|| count("segments").map(QueueLimit::Segments))
        .or_else(bytes)
}

pub fn bytes(text: &str) -> Option<u64> {
    let units = ["bytes", "byte"];
    let number = units.iter().find_map(|unit| text.strip_suffix(unit));
    parse_bytes(number.unwrap_or(text))
        .ok()
        .filter(|bytes| *bytes > 0)
}

/// The shaping of a direction in one short phrase: `1G, 20ms ±1ms, loss 1%, room for 1000 packets`;
/// `nothing` where it does nothing.
pub fn show_shaping(shaping: &Shaping) -> String {
    if shaping.is_nothing() {
        return "nothing".to_owned();
    }
    let rate = |rate| format!("{}bit/s", show_rate(rate).trim_end_matches("bit/s"));
    let delay = match (shaping.delay_us, shaping.jitter_us) {
        (0, 0) => None,
        (delay, 0) => Some(show_time(delay)),
        (delay, jitter) => Some(format!("{} ±{}", show_time(delay), show_time(jitter))),
    };
    let share = |name, ppm| (ppm > 0).then(|| format!("{name} {}", show_share(ppm)));
    let room = |limit| format!("room for {}", show_limit(limit));
    let parts = [
        shaping.rate_bps.map(rate),
        shaping.burst_bytes.map(|burst| format!("burst {burst} B")),
        delay,
        share("loss", shaping.loss_ppm),
        share("reorder", shaping.reorder_ppm),
        share("duplicate", shaping.duplicate_ppm),
        shaping.queue_limit.map(room),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_follows_rate_and_delay() {
        let mut shaping = Shaping {
            delay_us: 20_000,
            ..Shaping::default()
        };
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
        let rate = Shaping {
            rate_bps: Some(1),
            queue_limit: Some(QueueLimit::Bytes(1)),
            ..Shaping::default()
        };
        assert!(!rate.needs_emulator() && !rate.is_nothing());
        assert!(
            Shaping {
                loss_ppm: 1,
                ..Shaping::default()
            }
            .needs_emulator()
        );
    }
}
