//! How long, and how much, a shaping holds.

use bitcost_model::shaping::Shaping;

/// Bytes that a direction holds at its rate: the product of rate and delay; 0 without a rate.
pub fn rate_by_delay_bytes(shaping: &Shaping) -> u64 {
    let held_us = u128::from(shaping.delay_us) + u128::from(shaping.jitter_us);
    let bits = u128::from(shaping.rate_bps.unwrap_or(0)) * held_us / 1_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}

/// The shortest time that a packet may be held, in ns.
pub fn least_delay_ns(shaping: &Shaping) -> u64 {
    match shaping.reorder_ppm > 0 {
        true => 0,
        false => shaping.delay_us.saturating_sub(shaping.jitter_us) * 1000,
    }
}
