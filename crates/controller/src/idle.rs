//! The measurement of both idle hosts before the runs of a block.

use std::time::Duration;

use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::{IdleBaseline, Role};

use crate::error::RunError;
use crate::pair::{Pair, pick};
use crate::run::from_both;

/// The time that the answers may take in addition to the measurement.
const ANSWER: Duration = Duration::from_secs(5);

const ATTEMPTS: usize = 3;

/// Measures both hosts at the same time, unless that was done in this block or the length is zero.
/// Where a host was busy, again, since what ran in the baseline and not in the runs would be
/// subtracted from their cost; the quietest measurement counts.
pub fn measured(pair: &mut Pair, length: Duration) -> Result<(), RunError> {
    if pair.idle.is_some() || length.is_zero() {
        return Ok(());
    }
    let mut quietest = measure(pair, length)?;
    for _ in 1..ATTEMPTS {
        if busy(&quietest) <= IdleBaseline::BUSY {
            break;
        }
        let again = measure(pair, length)?;
        if busy(&again) < busy(&quietest) {
            quietest = again;
        }
    }
    pair.idle = Some(quietest);
    Ok(())
}

/// The share of time in which the busier of both hosts was at work; 0 where none is known.
fn busy(both: &[IdleBaseline; 2]) -> f64 {
    let shares = both.iter().filter_map(IdleBaseline::busy_share);
    shares.fold(0.0, f64::max)
}

fn measure(pair: &mut Pair, length: Duration) -> Result<[IdleBaseline; 2], RunError> {
    let length_ms = length.as_millis() as u32;
    for host in Role::ALL {
        pair.send(host, &ToAgent::Idle { length_ms });
    }
    let pick = pick!(FromAgent::Idle(idle) => *idle);
    from_both(pair, length + ANSWER, "its idle measurement", pick)
}
