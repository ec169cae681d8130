//! Where a service listens, and why it cannot.

use std::net::{IpAddr, SocketAddr};

use crate::failure::Failure;

/// An address that cannot be used, with what to do.
pub fn cannot_listen(protocol: &str, address: SocketAddr, error: &std::io::Error) -> Failure {
    let hint = match error.kind() {
        std::io::ErrorKind::AddrInUse => {
            "; another program has it: end that one, or choose another port, as in `:7352`"
        }
        std::io::ErrorKind::AddrNotAvailable => "; this host has no such address",
        std::io::ErrorKind::PermissionDenied => "; ports below 1024 need privilege",
        _ => "",
    };
    Failure::Environment(format!(
        "cannot listen at {protocol} {}: {error}{hint}",
        place(address)
    ))
}

/// Whether the host lacks an address, or a version of IP.
pub fn is_absent(error: &std::io::Error) -> bool {
    // EAFNOSUPPORT has no kind.
    error.kind() == std::io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(97)
}

/// Reads `ADDR`: an address, a port, or both. The address is absent where only a port is named.
pub fn address(text: &str, default_port: u16) -> Result<(Option<IpAddr>, u16), String> {
    if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
        return Ok((None, port));
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok((Some(address.ip()), address.port()));
    }
    let host = text.trim_start_matches('[').trim_end_matches(']');
    match host.parse() {
        Ok(host) => Ok((Some(host), default_port)),
        Err(_) => Err(format!(
            "`{text}` is neither an address nor a port; allowed: `10.0.0.1`, `10.0.0.1:{default_port}`, `[::]:{default_port}`, `:{default_port}`"
        )),
    }
}

/// An address and a port, for people.
pub fn place(address: SocketAddr) -> String {
    format!("{} port {}", address.ip(), address.port())
}
