//! The signals that stop a command in an orderly way.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::failure::Failure;

/// The first SIGINT or SIGTERM ends the present run; a second one ends the program.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    stop_on(&[signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM])
}

/// The same with these signals.
pub fn stop_on(signals: &[i32]) -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for &signal in signals {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .and_then(|_| signal_hook::flag::register(signal, stop.clone()))
            .map_err(|error| {
                Failure::Environment(format!("cannot catch signal {signal}: {error}"))
            })?;
    }
    Ok(stop)
}
