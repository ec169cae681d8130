//! Landlock (kernel doc: userspace-api/landlock): a process takes from itself what its user may do with files and the network.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::outcome::checked;

/// `LANDLOCK_CREATE_RULESET_VERSION` (linux/landlock.h).
const VERSION: u32 = 1;

/// `struct landlock_ruleset_attr`: what is denied unless a rule allows it. An older kernel takes the shorter structure
/// that it knows.
#[repr(C)]
struct Ruleset {
    files: u64,
    network: u64,
    scoped: u64,
}

/// How many of the rights to files each version of the interface knows, and how many bytes of [`Ruleset`].
fn known(version: u32) -> (u32, usize) {
    let files = match version {
        1 => 13,
        2 => 14,
        3 | 4 => 15,
        _ => 16,
    };
    let bytes = match version {
        1..=3 => 8,
        4 | 5 => 16,
        _ => 24,
    };
    (files, bytes)
}

/// The version of the interface that this kernel has; `None`: it has no Landlock, or a filter forbids it.
pub fn version() -> Option<u32> {
    // SAFETY: with this flag the call takes no structure: the pointer is null and the length 0, as landlock_create_ruleset(2) asks.
    let version = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<Ruleset>(),
            0usize,
            VERSION,
        )
    };
    u32::try_from(version).ok().filter(|version| *version > 0)
}

/// Denies the calling thread, and those that it starts, whatever Landlock can deny: to open, make, remove and run files,
/// from version 4 to bind and connect TCP sockets, from version 6 to signal other processes and to connect to their
/// abstract Unix sockets. What is open stays so. Returns the version.
///
/// # Errors
/// `ENOSYS` or `EOPNOTSUPP` from a kernel without it, `EPERM` without `no_new_privs`.
pub fn deny_all() -> io::Result<u32> {
    let version = version().ok_or_else(|| io::Error::from_raw_os_error(libc::EOPNOTSUPP))?;
    let (files, bytes) = known(version);
    let ruleset = Ruleset {
        files: (1 << files) - 1,
        network: 0b11,
        scoped: 0b11,
    };
    // SAFETY: `ruleset` outlives the call and has at least `bytes` bytes.
    let made = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            &raw const ruleset,
            bytes,
            0u32,
        )
    };
    let descriptor = checked(made)? as libc::c_int;
    // SAFETY: the kernel has just made this descriptor, and nothing else owns it.
    let rules = unsafe { OwnedFd::from_raw_fd(descriptor) };
    // SAFETY: the call takes a descriptor, which is open, and a number.
    checked(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0u32) })?;
    Ok(version)
}
