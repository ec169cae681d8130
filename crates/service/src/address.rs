//! The host and port of a service, as users type them.

use std::fmt;
use std::net::Ipv6Addr;

use bitcost_model::Invalid;
use bitcost_model::place::scoped;

/// The port of a service that names no other.
pub const PORT: u16 = 7351;

/// The longest host name, in bytes (RFC 1035, section 2.3.4).
const HOST_BYTES_MAX: usize = 253;

/// A host and a port. The host has only letters, digits and `.`, `-`, `_`, or is a numeric address,
/// one of one link with or without its interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPort {
    /// The host's name or address, without brackets.
    pub host: String,
    pub port: u16,
}

impl HostPort {
    /// Reads `host`, `host:port`, `192.0.2.7:7351`, `2001:db8::7` or `[2001:db8::7]:7351`.
    pub fn parse(text: &str, default_port: u16) -> Result<HostPort, Invalid> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let is_v6 = |host: &str| match scoped(host) {
            Some((_, device)) => device.chars().all(is_plain),
            None => host.parse::<Ipv6Addr>().is_ok(),
        };
        let bracketed = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (host, port) = match bracketed {
            Some((host, port)) if is_v6(host) => (host, port),
            _ if is_v6(text) => (text, ""),
            _ => text.split_at(text.find(':').unwrap_or(text.len())),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port != 0),
            None => port.is_empty().then_some(default_port),
        };
        let is_host = is_v6(host)
            || (1..=HOST_BYTES_MAX).contains(&host.len())
                && host.chars().all(is_plain)
                && !host.starts_with(['-', '.']);
        let host_port = port.filter(|_| is_host).map(|port| HostPort {
            host: host.to_owned(),
            port,
        });
        host_port.ok_or_else(|| {
            let shown: String = text.chars().take(64).collect();
            Invalid(format!(
                "{shown:?} is not a host, with or without a port; allowed: `web`, `web:{default_port}`, `192.0.2.7`, `[2001:db8::7]:{default_port}`"
            ))
        })
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read() {
        let read = |text: &str| HostPort::parse(text, 9).map(|at| at.to_string());
        for (text, shown) in [
            ("web", "web:9"),
            ("web:80", "web:80"),
            ("192.0.2.7:80", "192.0.2.7:80"),
            ("::1", "[::1]:9"),
            ("[::1]", "[::1]:9"),
            ("[::1]:80", "[::1]:80"),
            ("fe80::1", "[fe80::1]:9"),
            ("fe80::1%eth0", "[fe80::1%eth0]:9"),
            ("[fe80::1%eth0]:80", "[fe80::1%eth0]:80"),
        ] {
            assert_eq!(read(text), Ok(shown.to_owned()), "{text}");
        }
        for text in [
            "",
            "a/b",
            "../x",
            "-x",
            "me@web",
            "web:",
            "web:0",
            "web:x",
            "[web]:1",
            "a b",
            "[::1",
            "web:1:2",
            "fe80::1%",
            "fe80::1%a b",
            "fd00::1%eth0",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
