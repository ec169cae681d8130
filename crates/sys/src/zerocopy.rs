//! Completions of `MSG_ZEROCOPY`.

use std::io;
use std::os::fd::AsFd;

use crate::control;

/// Send calls that the kernel has completed (kernel documentation, networking/msg_zerocopy).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completed {
    /// Number of calls.
    pub calls: u64,
    /// True where the kernel copied their data nevertheless.
    pub copied: bool,
}

const ORIGIN_ZEROCOPY: u8 = 5;
const CODE_ZEROCOPY_COPIED: u8 = 1;

/// Takes one message about completed calls from the socket's error queue; it never waits.
///
/// # Errors
/// The error of the system call; `EAGAIN` when there is none. Another message counts as no call.
pub fn take_completed(socket: impl AsFd) -> io::Result<Completed> {
    let mut completed = Completed {
        calls: 0,
        copied: false,
    };
    control::receive(socket, &mut [], libc::MSG_ERRQUEUE, |said| {
        let is_error = (said.level == libc::SOL_IP && said.kind == libc::IP_RECVERR)
            || (said.level == libc::SOL_IPV6 && said.kind == libc::IPV6_RECVERR);
        // SAFETY: the structure is integers only.
        let error = unsafe { said.value::<libc::sock_extended_err>() }.filter(|_| is_error);
        let Some(error) = error else { return };
        if error.ee_origin == ORIGIN_ZEROCOPY && error.ee_errno == 0 {
            completed = Completed {
                // Calls are numbered by 32 bits that wrap around.
                calls: u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1,
                copied: error.ee_code & CODE_ZEROCOPY_COPIED != 0,
            };
        }
    })?;
    Ok(completed)
}

#[cfg(test)]
#[allow(clippy::disallowed_macros)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
        let from = TcpStream::connect(listener.local_addr().expect("address")).expect("connects");
        (from, listener.accept().expect("accepts").0)
    }

    #[test]
    fn take_completed_fails_without_completions() {
        let (from, _to) = pair();
        let nothing = take_completed(&from).expect_err("nothing was sent");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }
}
