//! The signals that stop a command in an orderly way.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

/// The first SIGINT or SIGTERM ends the present run, as the end of the terminal (SIGHUP) does; a second one ends the
/// program.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = stop_on(&[SIGINT, SIGTERM])?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !ignores_hangup(&status) {
        // A closed terminal and its shell send one each: the second must not end the program.
        let _ = signal_hook::flag::register(SIGHUP, stop.clone());
    }
    Ok(stop)
}

/// Whether a process with this status ignores SIGHUP, as nohup(1) has it (proc_pid_status(5)).
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
}

/// The same with these signals.
fn stop_on(signals: &[i32]) -> Result<Arc<AtomicBool>, Failure> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nohup_is_seen() {
        for (mask, is_ignored) in [("0000000000000001", true), ("0000000000001002", false)] {
            let status = format!("Name:\tbitcost\nSigIgn:\t{mask}\nSigCgt:\t0000000000000001\n");
            assert_eq!(ignores_hangup(&status), is_ignored, "{mask}");
        }
    }
}
