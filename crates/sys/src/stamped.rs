//! Datagrams with the time at which the kernel received them (`SO_TIMESTAMPNS`).

use std::io;
use std::os::fd::AsFd;

use rustix::net::RecvFlags;

use crate::control;

/// One datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamped {
    /// Its length.
    pub bytes: usize,
    /// When it was received, on `CLOCK_REALTIME`, in nanoseconds; absent where the kernel did not report it.
    pub at_ns: Option<u64>,
}

/// Receives a datagram from a socket with `SO_TIMESTAMPNS` (socket(7)).
///
/// # Errors
/// The error of the system call; `EAGAIN` when nothing was received in time.
pub fn receive_stamped(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<Stamped> {
    let mut at_ns = None;
    let bytes = control::receive(socket, buffer, flags, |said| {
        if said.level == libc::SOL_SOCKET && said.kind == libc::SCM_TIMESTAMPNS {
            // SAFETY: a timespec (socket(7)) is integers only.
            let time = unsafe { said.value::<libc::timespec>() };
            at_ns = time.map(|time| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
        }
    })?;
    Ok(Stamped { bytes, at_ns })
}
