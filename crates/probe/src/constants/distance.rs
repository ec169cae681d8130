//! The round trip of a cache line between two CPUs.

use std::time::Duration;

use bitcost_model::constants::ConstantFigure;

use super::spread::{self, NOT_KNOWN, ONE_CPU};
use crate::core_to_core::CoreToCoreMeter;

/// Time between two samples: 80 of them in 40 ms.
const EVERY: Duration = Duration::from_micros(500);

/// Lets a thread on each CPU pass a cache line to the other, again and again.
///
/// # Errors
/// A sentence, where there is no second CPU, or the threads do not meet often enough.
pub(super) fn round_trip(
    first: Option<u32>,
    second: Option<u32>,
    length: Duration,
) -> Result<ConstantFigure, String> {
    let first = first.ok_or(NOT_KNOWN)?;
    let second = second.ok_or(ONE_CPU)?;
    let meter = CoreToCoreMeter::start([first, second], EVERY)?;
    std::thread::sleep(length);
    let found = meter.finish()?.round_trip_ns;
    spread::figure(found.into_iter().map(f64::from).collect())
}
