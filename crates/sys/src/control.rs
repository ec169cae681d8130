//! A received message with what the kernel says of it in control messages (cmsg(3)).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::net::RecvFlags;

use crate::outcome::checked;
use crate::socket;

pub(crate) struct Said<'a> {
    /// Its level.
    pub level: libc::c_int,
    /// Its type.
    pub kind: libc::c_int,
    data: &'a [u8],
}

impl Said<'_> {
    /// The value with which its data begins; absent where it is shorter.
    ///
    /// # Safety
    /// Every byte pattern must be a valid `T`.
    pub unsafe fn value<T: Copy>(&self) -> Option<T> {
        // SAFETY: the data is as long as a `T`, which any bytes are; it may be unaligned.
        (self.data.len() >= size_of::<T>())
            .then(|| unsafe { self.data.as_ptr().cast::<T>().read_unaligned() })
    }
}

/// Space for the control messages of one message, aligned as the kernel requires.
#[repr(C, align(8))]
struct Control([u8; 128]);

/// Receives a message into `buffer`, passes each of its control messages to `take`, and returns its length.
pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
    mut take: impl FnMut(&Said),
) -> io::Result<usize> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = Control([0; 128]);
    // SAFETY: `msghdr` is integers and pointers only, so zero is valid.
    let mut header: libc::msghdr = unsafe { socket::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header describes `buffer` and `control`, which outlive the call.
    let bytes = checked(unsafe {
        libc::recvmsg(
            socket.as_fd().as_raw_fd(),
            &raw mut header,
            flags.bits() as _,
        )
    })?;
    // SAFETY: the kernel filled `control` up to the length that it left in the header.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    while !message.is_null() {
        // SAFETY: FIRSTHDR and NXTHDR give null or a whole message within `control`, whose data follows its header.
        take(&unsafe {
            let length = (*message).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            Said {
                level: (*message).cmsg_level,
                kind: (*message).cmsg_type,
                data: std::slice::from_raw_parts(libc::CMSG_DATA(message), length),
            }
        });
        // SAFETY: as above.
        message = unsafe { libc::CMSG_NXTHDR(&raw const header, message) };
    }
    Ok(bytes.unsigned_abs())
}
