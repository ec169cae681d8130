//! The addresses of a host name, as this machine's resolver gives them.
//!
//! A statically linked C library, as the packages have it, cannot load the modules that
//! `/etc/nsswitch.conf` may name, so the system's own `getent` (getent(1)) is asked, which can.

use std::net::IpAddr;
use std::process::Command;

use bitcost_model::place::{IpVersion, is_of_one_link, scoped};
use bitcost_model::{Unavailable, harmless};

/// The first address of a name to which data can be sent, of this version of IP where one is requested.
pub fn first(name: &str, version: Option<IpVersion>) -> Result<IpAddr, String> {
    let mut found = addresses(name).map_err(|error| format!("cannot be resolved: {error}"))?;
    // One of a link alone needs its interface, which a name has not.
    found.sort_by_key(|address| is_of_one_link(*address));
    let mut fitting = found.into_iter();
    let fitting = fitting.find(|address| IpVersion::fits(version, *address));
    fitting.ok_or_else(|| {
        let version = version.map_or("4 or IPv6", IpVersion::name);
        format!("has no address of IPv{version}")
    })
}

/// The addresses of a name or of a numeric address, in the resolver's order.
fn addresses(name: &str) -> Result<Vec<IpAddr>, Unavailable> {
    if let Ok(address) = scoped(name).map_or_else(|| name.parse(), |(address, _)| Ok(address)) {
        return Ok(vec![address]);
    }
    // It may come from a service, an allocation or a configuration, and getent takes options.
    if name.starts_with('-') {
        let name = harmless(name);
        return Err(Unavailable(format!("`{name}` is not a host name")));
    }
    let asked = Command::new("getent").args(["ahosts", name]).output();
    let output = asked.map_err(|error| {
        Unavailable(format!(
            "names are resolved by getent, which cannot be started: {error}"
        ))
    })?;
    match output.status.code() {
        Some(0) => Ok(listed(&String::from_utf8_lossy(&output.stdout))),
        Some(2) => Err(Unavailable("getent ahosts does not find it".to_owned())),
        _ => Err(Unavailable(format!(
            "getent ahosts failed: {}",
            harmless(String::from_utf8_lossy(&output.stderr).trim())
        ))),
    }
}

/// The addresses that `getent ahosts` lists, each once: it has a line for each address and kind of
/// socket.
fn listed(text: &str) -> Vec<IpAddr> {
    let mut addresses = Vec::new();
    for address in text
        .lines()
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
    {
        if !addresses.contains(&address) {
            addresses.push(address);
        }
    }
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_of_getent_counts_once() {
        let text = "2001:db8::7     STREAM host.example\n2001:db8::7     DGRAM\n192.0.2.7       STREAM\n192.0.2.7       RAW\n";
        assert_eq!(
            listed(text),
            [
                "2001:db8::7".parse::<IpAddr>().unwrap(),
                "192.0.2.7".parse().unwrap()
            ]
        );
    }

    #[test]
    fn a_numeric_address_is_not_looked_up() {
        assert_eq!(
            addresses("192.0.2.7"),
            Ok(vec!["192.0.2.7".parse().unwrap()])
        );
        assert_eq!(
            addresses("2001:db8::7"),
            Ok(vec!["2001:db8::7".parse().unwrap()])
        );
    }

    #[test]
    fn an_address_of_one_link_may_have_its_interface() {
        for name in ["fe80::7", "fe80::7%eth0"] {
            assert_eq!(first(name, None), Ok("fe80::7".parse().unwrap()));
        }
        assert_eq!(first("fd00::7", None), Ok("fd00::7".parse().unwrap()));
    }

    #[test]
    fn an_option_is_no_host_name() {
        let refused = addresses("--help").expect_err("no name");
        assert_eq!(refused.0, "`--help` is not a host name");
    }

    #[test]
    fn the_loopback_is_known() {
        // A root folder without /etc/hosts names no host.
        let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
        let is_named = hosts.contains("localhost");
        let name = if is_named { "localhost" } else { "127.0.0.1" };
        let found = addresses(name).expect("the loopback has an address");
        assert!(
            !found.is_empty() && found.iter().all(IpAddr::is_loopback),
            "{found:?}"
        );
    }

    #[test]
    fn what_is_no_host_name_is_an_error_in_words() {
        assert_eq!(
            addresses("no host name"),
            Err(Unavailable("getent ahosts does not find it".to_owned()))
        );
    }
}
