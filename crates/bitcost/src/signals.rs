//! The signals that stop a command in an orderly way.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::Failure;

/// The first SIGINT or SIGTERM ends the present run, as the end of the terminal (SIGHUP) does; a second one ends the
/// program.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 130, stop.clone())
            .map_err(|error| uncaught(signal, &error))?;
    }
    set_on(&[SIGINT, SIGTERM], &stop)?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !ignores_hangup(&status) {
        // A closed terminal and its shell send one each: the second must not end the program.
        set_on(&[SIGHUP], &stop)?;
    }
    Ok(stop)
}

/// Each of these signals sets the flag, however often it comes.
pub fn set_on(signals: &[i32], flag: &Arc<AtomicBool>) -> Result<(), Failure> {
    for &signal in signals {
        let registered = signal_hook::flag::register(signal, flag.clone());
        registered.map_err(|error| uncaught(signal, &error))?;
    }
    Ok(())
}

fn uncaught(signal: i32, error: &std::io::Error) -> Failure {
    Failure::Environment(format!("cannot catch signal {signal}: {error}"))
}

/// Whether a process with this status ignores SIGHUP, as nohup(1) has it (proc_pid_status(5)).
fn ignores_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (SIGHUP - 1)) != 0)
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
