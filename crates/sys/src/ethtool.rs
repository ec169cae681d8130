//! The ethtool ioctl, for what netlink does not report: the driver's name and its own counters.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::outcome::checked;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 3;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
/// The set of strings that names the counters (`ETH_SS_STATS`).
const STATISTICS: u32 = 1;
/// Length of each string (`ETH_GSTRING_LEN`).
const STRING_BYTES: usize = 32;
/// Space for counters in addition to four times the number that the driver reported.
const ROOM_MORE: usize = 16 << 10;

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
}

fn any_socket() -> io::Result<OwnedFd> {
    let (kind, flags) = (SocketType::DGRAM, SocketFlags::CLOEXEC);
    Ok(socket_with(AddressFamily::INET, kind, flags, None)?)
}

/// The driver of `device` in the caller's network namespace (ETHTOOL_GDRVINFO).
///
/// Nothing is known of a device without one (`EOPNOTSUPP`, as loopback on old kernels).
/// # Errors
/// `ENODEV` when there is no such device, `InvalidInput` for a name that cannot be one.
pub fn driver(device: &str) -> io::Result<Driver> {
    let socket = any_socket()?;
    let info = match driver_info(&socket, device) {
        Ok(info) => info,
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            return Ok(Driver::default());
        }
        Err(error) => return Err(error),
    };
    let word = |bytes: &[u8]| {
        let word = CStr::from_bytes_until_nul(bytes).unwrap_or_default();
        let word = word.to_string_lossy().into_owned();
        Some(word).filter(|word| !word.is_empty())
    };
    Ok(Driver {
        name: word(&info.driver),
        firmware: word(&info.firmware_version),
    })
}

/// The counters of the driver of `device`, in its order and by its names (ETHTOOL_GSTATS, ETHTOOL_GSTRINGS): what
/// `ethtool -S` shows. Empty where it has none.
///
/// # Errors
/// `ENODEV` when there is no such device, `InvalidInput` for a name that cannot be one.
pub fn statistics(device: &str) -> io::Result<Vec<(String, u64)>> {
    let socket = any_socket()?;
    let count = match driver_info(&socket, device) {
        Ok(info) => info.counts[1] as usize,
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => 0,
        Err(error) => return Err(error),
    };
    if count == 0 {
        return Ok(Vec::new());
    }
    // The kernel writes as many as the driver has at the time of the call, whatever the given size; no driver comes close
    // to this.
    let room = 4 * count + ROOM_MORE;
    // `struct ethtool_gstrings`: command, set, length, then the strings.
    let mut strings = vec![0u32; 3 + room * STRING_BYTES / size_of::<u32>()];
    (strings[0], strings[1], strings[2]) = (ETHTOOL_GSTRINGS, STATISTICS, count as u32);
    // SAFETY: the kernel writes the head and 32 bytes for each counter, and `room` of them have place.
    unsafe { ethtool_call(&socket, device, strings.as_mut_ptr().cast())? };
    // `struct ethtool_stats`: command and number, then a number of 64 bits for each.
    let mut numbers = vec![0u64; 1 + room];
    numbers[0] = two_words(ETHTOOL_GSTATS, count as u32);
    // SAFETY: the kernel writes the head and 8 bytes for each counter, and `room` of them have place.
    unsafe { ethtool_call(&socket, device, numbers.as_mut_ptr().cast())? };
    let told = (strings[2] as usize)
        .min(number_of(numbers[0]) as usize)
        .min(room);
    let name = |index: usize| {
        let words = &strings[3 + index * STRING_BYTES / 4..][..STRING_BYTES / 4];
        let bytes: Vec<u8> = words
            .iter()
            .flat_map(|word| word.to_ne_bytes())
            .take_while(|byte| *byte != 0)
            .collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    };
    Ok((0..told)
        .map(|index| (name(index), numbers[1 + index]))
        .collect())
}

/// Two numbers, adjacent in memory.
fn two_words(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// The second of [`two_words`].
fn number_of(words: u64) -> u32 {
    let [_, _, _, _, a, b, c, d] = words.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

fn driver_info(socket: &OwnedFd, device: &str) -> io::Result<DriverInfo> {
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
    // SAFETY: the command in `info` makes the kernel fill exactly one such structure, of integers only.
    unsafe { ethtool_call(socket, device, (&raw mut info).cast())? };
    Ok(info)
}

/// Makes the call whose command is the first word of what `data` points to.
///
/// # Safety
/// `data` must be valid for all that this command reads and writes.
unsafe fn ethtool_call(socket: &OwnedFd, device: &str, data: *mut libc::c_char) -> io::Result<()> {
    let bytes = device.as_bytes();
    if bytes.is_empty() || bytes.len() >= libc::IFNAMSIZ || bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut name: [libc::c_char; libc::IFNAMSIZ] = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(bytes) {
        *to = from.cast_signed() as libc::c_char;
    }
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data },
    };
    // SAFETY: `request` is laid out as the kernel's structure and outlives the call; the caller promises the rest.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })?;
    Ok(())
}
