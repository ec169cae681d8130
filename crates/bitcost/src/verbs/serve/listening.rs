//! Where a service listens, and why it cannot.

use std::net::SocketAddr;

use crate::failure::Failure;

/// An address that cannot be used, with what to do.
pub fn cannot_listen(address: SocketAddr, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program has it: end that one, or choose another port, as in `:5202`"
        }
        std::io::ErrorKind::AddrNotAvailable => "; this host has no such address",
        std::io::ErrorKind::PermissionDenied => "; ports below 1024 need privilege",
        _ => "",
    };
    Failure::Environment(format!(
        "cannot listen at {}: {error}{hint}",
        place(address)
    ))
}

/// An address and a port, for people.
pub fn place(address: SocketAddr) -> String {
    format!("{} port {}", address.ip(), address.port())
}
