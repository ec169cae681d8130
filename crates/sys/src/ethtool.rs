//! The ethtool ioctl, for what netlink does not report: the driver's name, its firmware, where its hardware is.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::outcome::checked;
use crate::socket;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 3;

/// `struct ethtool_drvinfo` of linux/ethtool.h.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    version: [u8; 32],
    firmware_version: [u8; 32],
    bus_info: [u8; 32],
    erom_version: [u8; 32],
    reserved: [u8; 12],
    counts: [u32; 5],
}

/// The driver of an interface, as it reports itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Driver {
    /// Its name; `None` when the device has no driver to name.
    pub name: Option<String>,
    /// The version of the device's firmware; `None` when it has none, and with some virtual devices.
    pub firmware: Option<String>,
    /// The address of its hardware on the bus that it is on, such as `0000:18:00.0`; `None` for a virtual device.
    pub address: Option<String>,
}

/// The driver of `device` in the caller's network namespace (ETHTOOL_GDRVINFO).
///
/// Nothing is known of a device without one (`EOPNOTSUPP`, as loopback on old kernels).
/// # Errors
/// `ENODEV` when there is no such device, `InvalidInput` for a name that cannot be one.
pub fn driver(device: &str) -> io::Result<Driver> {
    let bytes = device.as_bytes();
    if bytes.is_empty() || bytes.len() >= libc::IFNAMSIZ || bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut name: [libc::c_char; libc::IFNAMSIZ] = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(bytes) {
        *to = from.cast_signed() as libc::c_char;
    }
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC);
    let socket = socket_with(AddressFamily::INET, kind, flags, None)?;
    // SAFETY: the structure is integers only, so zero is valid.
    let mut info: DriverInfo = unsafe { socket::zeroed() };
    info.command = ETHTOOL_GDRVINFO;
    let ifr_ifru = libc::__c_anonymous_ifr_ifru {
        ifru_data: (&raw mut info).cast(),
    };
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru,
    };
    // SAFETY: the command makes the kernel fill exactly one such structure, which outlives the call as `request` does.
    match checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) }) {
        Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => return Err(error),
        // Where it has none, the structure stays empty.
        _ => {}
    }
    let word = |bytes: &[u8]| {
        let word = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
        let word = word.to_string_lossy().into_owned();
        Some(word).filter(|word| !word.is_empty())
    };
    Ok(Driver {
        name: word(&info.driver),
        firmware: word(&info.firmware_version),
        address: word(&info.bus_info),
    })
}
