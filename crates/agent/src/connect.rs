//! Connects the flows of a part, several at a time; errors name the flow.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_model::protocol::{FailureCause, Token};
use bitcost_model::record::Role;
use bitcost_traffic::{Ready, TrafficError};

use crate::refusal::Refusal;

/// Flows that are connected at the same time, so that round trips of a long path overlap.
const AT_A_TIME: usize = 32;

/// Adds the number of the flow to an error, where there are several flows.
pub fn named(index: usize, flows: usize, reason: impl ToString) -> String {
    match flows {
        1 => reason.to_string(),
        _ => format!("flow {} of {flows}: {}", index + 1, reason.to_string()),
    }
}

/// A flow that could not be made. Names that the kernel does not know (of a congestion control) and
/// rights that it refuses are what the host lacks.
pub fn refused(index: usize, flows: usize, error: &TrafficError) -> Refusal {
    use ErrorKind::{NotFound, PermissionDenied, Unsupported};
    Refusal {
        reason: named(index, flows, error),
        cause: match error {
            TrafficError::System { error, .. }
                if matches!(error.kind(), NotFound | PermissionDenied | Unsupported) =>
            {
                FailureCause::HostLacks
            }
            TrafficError::OtherAddress(_) => FailureCause::Data,
            _ => FailureCause::Other,
        },
    }
}

pub fn connect(
    shares: &[Conditions],
    peers: &[SocketAddr],
    token: Token,
    patience: Duration,
) -> Result<Vec<Ready>, Refusal> {
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
                    let ready =
                        bitcost_traffic::connect(&shares[index], peers[index], token, patience);
                    if ready.is_err() {
                        next.store(count, Ordering::Relaxed);
                    }
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, ready));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter()
        .map(|(index, ready)| ready.map_err(|error| refused(index, count, &error)))
        .collect()
}

/// Connects every flow to an iperf3 server, in order, one at a time, because the server takes them
/// in the order in which they come.
pub fn join_iperf3(
    shares: &[Conditions],
    role: Role,
    peers: &[SocketAddr],
    token: Token,
    patience: Duration,
) -> Result<Vec<Ready>, Refusal> {
    let count = shares.len();
    let join = |(index, (share, peer)): (usize, (&Conditions, &SocketAddr))| {
        bitcost_traffic::join_iperf3(share, role, *peer, token, patience)
            .map_err(|error| refused(index, count, &error))
    };
    shares.iter().zip(peers).enumerate().map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_error_names_the_flow() {
        let nobody =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let peers = vec![nobody.expect("a port"); 40];
        let shares = vec![Conditions::default(); 40];
        let reason = connect(&shares, &peers, [0; 16], Duration::from_secs(4))
            .err()
            .expect("nobody listens")
            .reason;
        assert!(
            reason.starts_with("flow ") && reason.contains(" of 40: connect to TCP 127.0.0.1:"),
            "{reason}"
        );
    }
}
