//! Where a service listens, and why it cannot.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};

use crate::failure::Failure;

/// An address and a port; without the address those that a service has by default.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub host: Option<IpAddr>,
    pub port: u16,
}

impl At {
    /// Reads `ADDR`: an address, a port, or both.
    pub fn parse(text: &str, default_port: u16) -> Result<At, String> {
        if let Ok(port) = text.strip_prefix(':').unwrap_or(text).parse() {
            return Ok(At { host: None, port });
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            let (host, port) = (Some(address.ip()), address.port());
            return Ok(At { host, port });
        }
        let host = text.trim_start_matches('[').trim_end_matches(']').parse();
        let (host, port) = (host.ok(), default_port);
        host.map(|_| At { host, port }).ok_or_else(|| {
            format!(
                "`{text}` is neither an address nor a port; allowed: `10.0.0.1`, `10.0.0.1:{default_port}`, `[::]:{default_port}`, `:{default_port}`"
            )
        })
    }

    /// Listens there, or else at both of the default addresses, of which one is enough: hosts may be without IPv6.
    pub fn open<S>(
        self,
        default: [IpAddr; 2],
        open: impl Fn(&[SocketAddr]) -> io::Result<S>,
    ) -> Result<S, Failure> {
        let hosts = self.host.map_or(default.to_vec(), |host| vec![host]);
        let at = |host| SocketAddr::new(host, self.port);
        let addresses: Vec<SocketAddr> = hosts.into_iter().map(at).collect();
        let opened = match open(&addresses) {
            Err(error) if is_absent(&error) && addresses.len() > 1 => open(&addresses[..1]),
            opened => opened,
        };
        opened.map_err(|error| cannot_listen(&addresses, &error))
    }
}

/// An address that cannot be used, with what to do.
fn cannot_listen(addresses: &[SocketAddr], error: &io::Error) -> Failure {
    let is_taken = |error: io::Error| error.kind() == ErrorKind::AddrInUse;
    let mut all = addresses.iter();
    let tcp = all
        .clone()
        .find(|at| TcpListener::bind(at).is_err_and(is_taken));
    let udp = all.find(|at| UdpSocket::bind(at).is_err_and(is_taken));
    let (address, protocol) = match (tcp, udp) {
        (Some(at), None) => (at, "TCP"),
        (None, Some(at)) => (at, "UDP"),
        (at, _) => (at.unwrap_or(&addresses[0]), "TCP and UDP"),
    };
    let hint = match error.kind() {
        ErrorKind::AddrInUse => {
            "; another program has it: end that one, or choose another port, as in `:7352`"
        }
        ErrorKind::AddrNotAvailable => "; this host has no such address",
        ErrorKind::PermissionDenied => "; ports below 1024 need privilege",
        _ => "",
    };
    Failure::Environment(format!(
        "cannot listen at {} port {}, {protocol}: {error}{hint}",
        address.ip(),
        address.port()
    ))
}

/// Whether the host lacks an address, or a version of IP.
fn is_absent(error: &io::Error) -> bool {
    // EAFNOSUPPORT has no kind.
    error.kind() == ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(97)
}
