//! A packet socket that sends many packets per call (sendmmsg(2)).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::raw::{bind, open};
use crate::outcome::checked;
use crate::socket;

/// The most packets that one call sends.
pub const BATCH: usize = 64;

/// The send buffer to request, in bytes. What a queueing discipline behind the socket holds counts as in it; the kernel's
/// default holds three super-packets.
const SEND_BUFFER_BYTES: i32 = 16 << 20;

/// A socket that sends packets out of a device, and receives none.
pub struct BatchSender {
    socket: OwnedFd,
    /// Point to the packets during a call.
    parts: Box<[libc::iovec]>,
    /// Point into `parts`.
    headers: Box<[libc::mmsghdr]>,
}

/// The header of `sendmmsg` for a message of one part, to which it points.
fn message_of(part: &mut libc::iovec) -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is integers and pointers only, so zero is valid.
    let mut message: libc::mmsghdr = unsafe { socket::zeroed() };
    message.msg_hdr.msg_iov = std::ptr::from_mut(part);
    message.msg_hdr.msg_iovlen = 1;
    message
}

// SAFETY: the pointers lead into memory that the batch_sender itself owns on the heap, and to packets only while a method that
// borrows both lasts.
unsafe impl Send for BatchSender {}

impl BatchSender {
    /// A sender on a device of the calling thread's network namespace. Without `CAP_NET_ADMIN` over the first namespace its
    /// send buffer has at most `net.core.wmem_max`.
    ///
    /// # Errors
    /// The error of the system call: `EPERM` without `CAP_NET_RAW` over the namespace.
    pub fn open(device_index: u32) -> io::Result<BatchSender> {
        let socket = open()?;
        bind(&socket, device_index, 0)?;
        socket::set_int(&socket, socket::SO_SNDBUFFORCE, SEND_BUFFER_BYTES)
            .or_else(|_| socket::set_int(&socket, socket::SO_SNDBUF, SEND_BUFFER_BYTES))?;
        // SAFETY: `iovec` is an integer and a pointer only, so zero is valid.
        let mut parts: Box<[libc::iovec]> =
            (0..BATCH).map(|_| unsafe { socket::zeroed() }).collect();
        let headers = parts.iter_mut().map(message_of).collect();
        Ok(BatchSender {
            socket,
            parts,
            headers,
        })
    }

    /// Sends the first of `packets`, at most [`BATCH`], and returns how many the kernel took.
    ///
    /// # Errors
    /// The error of the system call, when the kernel did not take the first: `ENOBUFS` where the device's queue dropped it.
    pub fn send<'a>(&mut self, packets: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let mut count = 0;
        for (part, packet) in self.parts.iter_mut().zip(packets) {
            *part = libc::iovec {
                iov_base: packet.as_ptr().cast_mut().cast(),
                iov_len: packet.len(),
            };
            count += 1;
        }
        let headers = &mut self.headers[..count];
        let fd = self.socket.as_raw_fd();
        // SAFETY: `count` headers point to parts that point to the packets, which are borrowed for the call; the kernel
        // only reads them.
        let sent =
            unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), headers.len() as libc::c_uint, 0) };
        Ok(checked(sent)? as usize)
    }
}
