//! Many flows: files enough for them, several connected at a time, and errors that name the flow.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use model::conditions::Conditions;
use model::units::counted;
use traffic::{Ready, TrafficError};
use wire::Token;

/// Flows that are connected at the same time: enough that a long path does not take its round trips one
/// after the other.
const AT_A_TIME: usize = 32;

/// Open files that each flow takes at most: its socket, two more handles of it, a pipe of its mode, the counters of
/// its thread.
const FILES: u64 = 8;

/// Open files beside those of the flows.
const FILES_BESIDE: u64 = 64;

/// Raises this process's limit of open files to what the host allows.
///
/// # Errors
/// When that is not enough for so many flows.
pub fn allow_files(flows: u32) -> Result<(), String> {
    let limit = sys::process::raise_open_files().map_err(|error| format!("raise the limit of open files: {error}"))?;
    enough_files(flows, limit)
}

fn enough_files(flows: u32, limit: Option<u64>) -> Result<(), String> {
    let needed = FILES_BESIDE + FILES * u64::from(flows);
    let Some(limit) = limit.filter(|limit| *limit < needed) else { return Ok(()) };
    let most = limit.saturating_sub(FILES_BESIDE) / FILES;
    let fewer =
        if most == 0 { String::new() } else { format!(", or ask for at most {}", counted(most as usize, "flow")) };
    let flows = counted(flows as usize, "flow");
    Err(format!(
        "a run of {flows} needs {needed} open files at each end, and this host allows {limit}; raise its hard limit to {needed} or more (ulimit -Hn, LimitNOFILE= of systemd){fewer}"
    ))
}

/// Says which of several flows an error is of.
pub fn named(index: usize, flows: usize, reason: impl ToString) -> String {
    match flows {
        1 => reason.to_string(),
        _ => format!("flow {} of {flows}: {}", index + 1, reason.to_string()),
    }
}

/// Connects every flow, in order, several at a time.
///
/// # Errors
/// The first flow that could not be connected, and why.
pub fn connect(
    shares: &[Conditions],
    peers: &[SocketAddr],
    token: Token,
    patience: Duration,
) -> Result<Vec<Ready>, String> {
    let count = shares.len().min(peers.len());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Ready, TrafficError>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let ready = traffic::connect(&shares[index], peers[index], token, patience);
                    if ready.is_err() {
                        next.store(count, Ordering::Relaxed);
                    }
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((index, ready));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(index, ready)| ready.map_err(|error| named(index, count, error))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_with_few_files_says_how_many_flows_it_can_have() {
        assert_eq!(enough_files(1000, None), Ok(()));
        assert_eq!(enough_files(1000, Some(20_000)), Ok(()));
        let reason = enough_files(1000, Some(1024)).expect_err("too few");
        assert!(reason.contains("allows 1024") && reason.contains("at most 120 flows"), "{reason}");
        assert_eq!(enough_files(120, Some(1024)), Ok(()));
        let reason = enough_files(1, Some(64)).expect_err("too few");
        assert!(reason.starts_with("a run of 1 flow needs 72 open files") && !reason.contains("ask for"), "{reason}");
    }

    #[test]
    fn a_flow_that_cannot_connect_is_named() {
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let peers = vec![nobody.expect("a port"); 40];
        let shares = vec![Conditions::default(); 40];
        let reason = connect(&shares, &peers, [0; 16], Duration::from_secs(4)).err().expect("nobody listens");
        assert!(reason.starts_with("flow ") && reason.contains(" of 40: connect to TCP 127.0.0.1:"), "{reason}");
    }
}
