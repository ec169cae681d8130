//! The measurement of both idle hosts before the runs of a block.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bitcost_model::protocol::{FromAgent, ToAgent};
use bitcost_model::record::Role;

use crate::error::RunError;
use crate::pair::Pair;
use crate::run::from_both;

/// The time that the answers may take in addition to the measurement.
const ANSWER: Duration = Duration::from_secs(5);

/// Measures both hosts at the same time, unless that was done in this block or the length is zero.
///
/// # Errors
/// When an agent does not answer, or the user stopped the execution.
pub fn measured(pair: &mut Pair, length: Duration, stop: &AtomicBool) -> Result<(), RunError> {
    if pair.idle.is_some() || length.is_zero() {
        return Ok(());
    }
    for host in [Role::Sender, Role::Receiver] {
        pair.send(
            host,
            &ToAgent::Idle {
                length_ms: length.as_millis() as u32,
            },
        );
    }
    let both = from_both(
        pair,
        length + ANSWER,
        "its idle measurement",
        stop,
        |message| match message {
            FromAgent::Idle(idle) => Some(*idle),
            _ => None,
        },
    )?;
    pair.idle = Some(both);
    Ok(())
}
