//! The bounds of the rules.

/// From this share of lost datagrams on, in per cent, loss is what is explained.
pub const LOSS_PCT: f64 = 2.0;
