//! Connects the flows of a part, several at a time; errors name the flow.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bitcost_model::protocol::{FailureCause, Peer, Token};
use bitcost_traffic::{End, Ready, TrafficError};

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

/// A flow that could not be made. Names that the kernel does not know (of a congestion control) and rights that it refuses are
/// what the host lacks.
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
            TrafficError::Unreached(_) => FailureCause::Unreached,
            _ => FailureCause::Other,
        },
    }
}

/// Opens every flow. An iperf3 server takes them in the order in which they come.
pub fn connect(
    ends: &[End],
    peer: (Peer, SocketAddr),
    token: Token,
    patience: Duration,
) -> Result<Vec<Ready>, Refusal> {
    let count = ends.len();
    let at_a_time = match peer.0 {
        Peer::Bitcost => AT_A_TIME,
        Peer::Iperf3 => 1,
    };
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, Result<Ready, TrafficError>)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..at_a_time.min(count) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    let ready = bitcost_traffic::connect(ends[index], peer, token, patience);
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

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_model::record::Role;
    use bitcost_traffic::FlowId;

    use super::*;

    #[test]
    fn connect_error_names_the_flow() {
        let nobody =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let conditions = Conditions::default();
        let end = End {
            id: FlowId::default(),
            role: Role::Sender,
            conditions: &conditions,
        };
        let peer = (Peer::Bitcost, nobody.expect("a port"));
        let reason = connect(&[end; 40], peer, [0; 16], Duration::from_secs(4))
            .err()
            .expect("nobody listens")
            .reason;
        assert!(
            reason.starts_with("flow ") && reason.contains(" of 40: connect to TCP 127.0.0.1:"),
            "{reason}"
        );
    }
}
