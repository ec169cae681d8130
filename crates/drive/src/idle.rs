//! What both hosts do with nothing going on, measured before the runs of a block.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::record::Role;
use wire::{FromAgent, ToAgent};

use crate::pair::Pair;
use crate::run::{RunError, from_both};

/// What the agents may take beside the stretch itself.
const ANSWER: Duration = Duration::from_secs(5);

/// Measures both at the same time, unless that was done in this block or no time is given to it.
///
/// # Errors
/// When an agent does not answer, or the user stopped.
pub fn measured(pair: &mut Pair, length: Duration, stop: &AtomicBool) -> Result<(), RunError> {
    if pair.idle.is_some() || length.is_zero() {
        return Ok(());
    }
    for host in [Role::Sender, Role::Receiver] {
        pair.send(host, &ToAgent::Idle { length_ms: length.as_millis() as u32 });
    }
    let both = from_both(pair, length + ANSWER, "its host at rest", stop, |message| match message {
        FromAgent::Idle(idle) => Some(*idle),
        _ => None,
    })?;
    pair.idle = Some(both);
    Ok(())
}
