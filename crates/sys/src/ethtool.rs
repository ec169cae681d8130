//! The ethtool ioctl, for what netlink does not report: the driver's name, its firmware, where its hardware is, and its own
//! counters.

use std::io;
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::outcome::checked;
use crate::socket;

const SIOCETHTOOL: libc::c_ulong = 0x8946;
const ETHTOOL_GDRVINFO: u32 = 3;
const ETHTOOL_GSTRINGS: u32 = 0x1b;
const ETHTOOL_GSTATS: u32 = 0x1d;
/// The set of strings that are names of counters.
const ETH_SS_STATS: u32 = 1;
/// Bytes of a name, and of a value.
const NAME: usize = 32;
const VALUE: usize = 8;

/// The most counters of a driver that are read.
const COUNTERS_MOST: usize = 1 << 16;
/// Counters for which there is more room than the driver has: their number grows with the number of queues.
const SPARE: usize = 1 << 14;

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
    private_flags: u32,
    counters: u32,
    lengths: [u32; 3],
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
    /// The number of its counters.
    pub counters: usize,
}

/// Makes the call for a device of the caller's network namespace.
///
/// # Safety
/// `data` is the structure of the command that it begins with, and has room for all that the kernel writes for it.
unsafe fn call<T: ?Sized>(device: &str, data: *mut T) -> io::Result<()> {
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
    let ifr_ifru = libc::__c_anonymous_ifr_ifru {
        ifru_data: data.cast(),
    };
    let mut request = libc::ifreq {
        ifr_name: name,
        ifr_ifru,
    };
    // SAFETY: the caller promises what `data` is; both outlive the call.
    checked(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) })?;
    Ok(())
}

/// The driver of `device` in the caller's network namespace (ETHTOOL_GDRVINFO).
///
/// Nothing is known of a device without one (`EOPNOTSUPP`, as loopback on old kernels).
/// # Errors
/// `ENODEV` when there is no such device, `InvalidInput` for a name that cannot be one.
pub fn driver(device: &str) -> io::Result<Driver> {
    // SAFETY: the structure is integers only, so zero is valid.
    let mut info: DriverInfo = unsafe { socket::zeroed() };
    info.command = ETHTOOL_GDRVINFO;
    // SAFETY: the command makes the kernel fill exactly one such structure.
    match unsafe { call(device, &raw mut info) } {
        Err(error) if error.raw_os_error() != Some(libc::EOPNOTSUPP) => return Err(error),
        // Where it has none, the structure stays empty.
        _ => {}
    }
    Ok(Driver {
        name: word(&info.driver),
        firmware: word(&info.firmware_version),
        address: word(&info.bus_info),
        counters: info.counters as usize,
    })
}

/// The counters of `device` as its driver names them (`ethtool -S`); none where it has none.
///
/// # Errors
/// As for [`driver`]; `InvalidData` where their number changes meanwhile.
pub fn counters(device: &str) -> io::Result<Vec<(String, u64)>> {
    let count = driver(device)?.counters;
    if count == 0 || count > COUNTERS_MOST {
        return Ok(Vec::new());
    }
    let number = count as u32;
    let head = |words: &[u32]| words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let mut names: Vec<u8> = head(&[ETHTOOL_GSTRINGS, ETH_SS_STATS, number]);
    let mut values: Vec<u8> = head(&[ETHTOOL_GSTATS, number]);
    let heads = [names.len(), values.len()];
    names.resize(heads[0] + (count + SPARE) * NAME, 0);
    values.resize(heads[1] + (count + SPARE) * VALUE, 0);
    // SAFETY: the kernel writes as many names and values as there are now, whatever is asked for. There is room for the number
    // that was just read, and for as many more as a change of the queues meanwhile adds.
    unsafe {
        call(device, names.as_mut_ptr())?;
        call(device, values.as_mut_ptr())?;
    }
    // The last word of each head is now how many were written.
    let written = [
        &names[heads[0] - 4..heads[0]],
        &values[heads[1] - 4..heads[1]],
    ];
    if written != [number.to_ne_bytes(); 2] {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let names = names[heads[0]..].chunks_exact(NAME);
    let values = values[heads[1]..].as_chunks::<VALUE>().0.iter();
    let pairs = names.zip(values).take(count);
    Ok(pairs
        .map(|(name, value)| (word(name).unwrap_or_default(), u64::from_ne_bytes(*value)))
        .collect())
}

/// The text of a field, without white space around it; absent where it is empty.
fn word(bytes: &[u8]) -> Option<String> {
    let end = bytes
        .iter()
        .position(|byte| *byte == 0)
        .unwrap_or(bytes.len());
    let word = String::from_utf8_lossy(&bytes[..end]).trim().to_owned();
    Some(word).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_a_driver_have_names_and_loopback_has_none() {
        assert_eq!(counters("lo").expect("loopback"), []);
        assert_eq!(word(b"  pkts rx OOB\0\0"), Some("pkts rx OOB".to_owned()));
        assert_eq!(word(&[b'x'; 32]).map(|word| word.len()), Some(32));
        assert!(counters("no-such-device").is_err());
    }
}
