//! The devices of the caller's network namespace.

use netlink::{Link, Rtnl};

use crate::HostError;
use crate::error::near;

/// The names of all devices; empty where they cannot be listed.
pub fn devices() -> Vec<String> {
    let links = Rtnl::open().and_then(|mut rtnl| rtnl.links()).unwrap_or_default();
    links.into_iter().map(|link| link.name).collect()
}

/// The device of this name.
///
/// # Errors
/// `ENODEV`, with the names that are close.
pub fn link(device: &str) -> Result<Link, HostError> {
    Ok(Rtnl::open()?.link(device)?)
}

/// Fails when there is no such device, and names those that are close.
pub fn check(device: &str) -> Result<(), HostError> {
    match link(device) {
        Err(HostError::Netlink(error)) if error.is_no_device() => {
            let names = devices();
            let hint = near(device, names.iter().map(String::as_str));
            Err(HostError::cannot(
                format!("use the device {device}"),
                format!("there is none of that name here{hint}; there are: {}", names.join(", ")),
            ))
        }
        outcome => outcome.map(drop),
    }
}
