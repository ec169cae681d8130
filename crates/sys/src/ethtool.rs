//! The old ethtool call, for the one fact that netlink does not tell: the driver's name.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

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

/// The name of the driver of `device` in the caller's network namespace (ETHTOOL_GDRVINFO).
///
/// `None` when the device has no driver to name (`EOPNOTSUPP`, as loopback on old kernels).
/// Errors: `ENODEV` when there is no such device, `InvalidInput` for a name that cannot be one.
pub fn driver_name(device: &str) -> io::Result<Option<String>> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    let mut info = DriverInfo {
        command: ETHTOOL_GDRVINFO,
        driver: [0; 32],
        version: [0; 32],
        firmware_version: [0; 32],
        bus_info: [0; 32],
        erom_version: [0; 32],
        reserved: [0; 12],
        counts: [0; 5],
    };
    match ethtool_call(&socket, device, &mut info) {
        Ok(()) => {}
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => return Ok(None),
        Err(error) => return Err(error),
    }
    let name = CStr::from_bytes_until_nul(&info.driver).unwrap_or_default();
    let name = name.to_string_lossy().into_owned();
    Ok(Some(name).filter(|name| !name.is_empty()))
}

fn ethtool_call(socket: &OwnedFd, device: &str, info: &mut DriverInfo) -> io::Result<()> {
    let bytes = device.as_bytes();
    if bytes.is_empty() || bytes.len() >= libc::IFNAMSIZ || bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut name: [libc::c_char; libc::IFNAMSIZ] = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(bytes) {
        *to = from.cast_signed() as libc::c_char;
    }
    let mut request =
        libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: (&raw mut *info).cast() } };
    // SAFETY: `request` and the `DriverInfo` it points to are laid out as the kernel's structures,
    // are exclusively borrowed, and outlive the call; this command writes nothing beyond them.
    let outcome = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
