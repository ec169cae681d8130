//! Zero-copy: completions of `MSG_ZEROCOPY`, and received pages that are mapped (`TCP_ZEROCOPY_RECEIVE`).

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd};

use crate::control;
use crate::socket::{self, IntOption};

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

/// The kernel's structure (linux/tcp.h), up to the fields that are used.
#[repr(C)]
#[derive(Clone, Copy)]
struct Request {
    address: u64,
    length: u32,
    recv_skip_hint: u32,
    inq: u32,
    err: i32,
    copybuf_address: u64,
    copybuf_len: i32,
    flags: u32,
}

const ZEROCOPY_RECEIVE: IntOption = IntOption(libc::IPPROTO_TCP, libc::TCP_ZEROCOPY_RECEIVE);

/// The result of [`Mapping::receive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// Bytes that were mapped, and removed from the socket.
    pub mapped: usize,
    /// Bytes that come next and must be read by a receive call: they do not fill pages.
    pub to_read: usize,
}

/// Address space into which received pages are mapped. They are not read.
pub struct Mapping {
    address: *mut libc::c_void,
    length: usize,
}

// SAFETY: the mapping belongs to the process, and only methods that borrow this value use it.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps `length` bytes, a multiple of the page size, of a TCP socket.
    ///
    /// # Errors
    /// The error of the system call, such as `ENODEV` where the kernel does not support this.
    pub fn of(socket: impl AsFd, length: usize) -> io::Result<Mapping> {
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice touches nobody's memory.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ,
                libc::MAP_SHARED,
                fd,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            Err(io::Error::last_os_error())
        } else {
            Ok(Mapping { address, length })
        }
    }

    /// Maps what was received in whole pages, replacing the previous mapping; never blocks.
    ///
    /// # Errors
    /// The error of the system call; `EIO` when the peer has ended the connection and everything is read.
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<Mapped> {
        let mut request = Request {
            address: self.address as u64,
            length: u32::try_from(self.length).unwrap_or(u32::MAX),
            recv_skip_hint: 0,
            inq: 0,
            err: 0,
            copybuf_address: 0,
            copybuf_len: 0,
            flags: 0,
        };
        // SAFETY: the structure is integers only; the kernel maps pages only into the range of this mapping, to which no
        // reference exists.
        let length = unsafe { socket::get(socket, ZEROCOPY_RECEIVE, &mut request)? };
        if request.err != 0 && length >= offset_of!(Request, err) + size_of::<i32>() {
            return Err(io::Error::from_raw_os_error(request.err.abs()));
        }
        Ok(Mapped {
            mapped: request.length as usize,
            to_read: request.recv_skip_hint as usize,
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is the one that was mapped, and nobody holds a reference into it.
        unsafe { libc::munmap(self.address, self.length) };
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_macros)]
mod tests {
    use std::io::Write;
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

    #[test]
    fn partial_page_is_reported_for_reading() {
        let (mut from, to) = pair();
        let Ok(mut mapping) = Mapping::of(&to, 1 << 20) else {
            eprintln!("this kernel maps no TCP sockets: not tested");
            return;
        };
        assert_eq!(
            mapping.receive(&to).expect("asks"),
            Mapped {
                mapped: 0,
                to_read: 0
            }
        );
        from.write_all(&[1; 100]).expect("sends");
        crate::process::wait_readable(&to, std::time::Duration::from_secs(5)).expect("waits");
        assert_eq!(
            mapping.receive(&to).expect("asks"),
            Mapped {
                mapped: 0,
                to_read: 100
            }
        );
    }
}
