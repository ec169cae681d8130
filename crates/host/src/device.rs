//! The devices of the caller's network namespace.

use std::thread;
use std::time::{Duration, Instant};

use bitcost_sys::netlink::{Link, Rtnl};

use crate::HostError;
use bitcost_model::near::did_you_mean;

pub use bitcost_sys::netlink::devices;

/// The interval at which a link is looked for.
const PAUSE: Duration = Duration::from_millis(10);

/// The longest name of a device, in bytes (`IFNAMSIZ` without its end, netdevice(7)).
const NAME_MOST: usize = 15;

/// Whether the kernel accepts this as the name of a device (`dev_valid_name` in net/core/dev.c).
pub fn is_name(device: &str) -> bool {
    let is_letter = |c: char| !c.is_whitespace() && !c.is_control() && c != '/' && c != ':';
    (1..=NAME_MOST).contains(&device.len())
        && ![".", ".."].contains(&device)
        && device.chars().all(is_letter)
}

/// Checks that it can be the name of a device.
pub fn check_name(device: &str) -> Result<(), HostError> {
    if is_name(device) {
        return Ok(());
    }
    let why = format!(
        "not a valid name of a device; allowed: 1 to {NAME_MOST} bytes without spaces, `/` and `:`"
    );
    Err(HostError::cannot(
        format!("use the device {}", shown(device)),
        why,
    ))
}

/// An untrusted name for an error message: quoted, and shortened if it is long.
pub fn shown(name: &str) -> String {
    let mut start: String = name.chars().take(64).collect();
    if start.len() < name.len() {
        start.push('…');
    }
    format!("{start:?}")
}

/// The device of this name.
///
/// # Errors
/// When there is none, `ENODEV`.
pub fn link(device: &str) -> Result<Link, HostError> {
    check_name(device)?;
    Ok(Rtnl::open()?.link(device)?)
}

/// Whether the device exists, is up and has a carrier.
pub fn has_link(device: &str) -> bool {
    link(device).is_ok_and(|link| link.is_running())
}

/// Waits until the device has a carrier again: a card's link is down for some seconds after changes of its rings, its MTU, its
/// queues or its checksums.
///
/// # Errors
/// It has none after this time.
pub fn await_link(device: &str, longest: Duration) -> Result<(), HostError> {
    let end = Instant::now() + longest;
    while !has_link(device) {
        if Instant::now() > end {
            let why = format!(
                "its link has not come back within {longest:?} after its settings were changed; leave them out, or make them before the run"
            );
            return Err(HostError::cannot(format!("use the device {device}"), why));
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// Checks that the device exists.
pub fn check(device: &str) -> Result<(), HostError> {
    match link(device) {
        Err(HostError::Netlink(error)) if error.is_no_device() => {
            let names = devices();
            let hint = did_you_mean(device, names.iter().map(String::as_str));
            Err(HostError::cannot(
                format!("use the device {device}"),
                format!("no such device{hint}; available: {}", names.join(", ")),
            ))
        }
        outcome => outcome.map(drop),
    }
}
