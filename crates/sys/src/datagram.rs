//! Many datagrams in one call: joined by the kernel (`UDP_GRO`), and lists of them (`sendmmsg`, `recvmmsg`).

use std::io;
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd};

use crate::socket;

/// How a receive call waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Until data is available, or the socket's timeout has passed.
    Sleep,
    /// Not at all (`MSG_DONTWAIT`).
    Never,
}

impl Wait {
    pub(crate) fn flags(self) -> libc::c_int {
        match self {
            Wait::Sleep => 0,
            Wait::Never => libc::MSG_DONTWAIT,
        }
    }
}

/// Datagrams of equal length, adjacent in the buffer; the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Total bytes.
    pub bytes: usize,
    /// Length of each.
    pub each: usize,
}

/// Space for one control message with a C `int` or a timespec, aligned as the kernel requires.
#[repr(C, align(8))]
pub(crate) struct Control(pub [u8; 64]);

impl Default for Control {
    fn default() -> Control {
        Control([0; 64])
    }
}

/// Each complete control message of a header that the kernel filled.
///
/// # Safety
/// The header's control buffer must be unchanged since the kernel filled it, and outlive what is returned.
pub(crate) unsafe fn control_messages(
    header: &libc::msghdr,
) -> impl Iterator<Item = *mut libc::cmsghdr> {
    // SAFETY: the caller promises a header that the kernel filled.
    let first = unsafe { libc::CMSG_FIRSTHDR(std::ptr::from_ref(header)) };
    let some = |message: *mut libc::cmsghdr| (!message.is_null()).then_some(message);
    std::iter::successors(some(first), move |message| {
        // SAFETY: as above; the message is one that FIRSTHDR or NXTHDR gave.
        some(unsafe { libc::CMSG_NXTHDR(header, *message) })
    })
}

/// Receives the datagrams that a socket with `UDP_GRO` has joined, or one datagram (udp(7)).
///
/// # Errors
/// The error of the system call; `EAGAIN` when nothing was received in time.
pub fn receive_joined(socket: impl AsFd, buffer: &mut [u8], wait: Wait) -> io::Result<Joined> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = Control::default();
    // SAFETY: `msghdr` is integers and pointers only, so zero is valid.
    let mut header: libc::msghdr = unsafe { socket::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header describes `buffer` and `control`, which outlive the call.
    let bytes = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, wait.flags()) };
    let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
    let mut each = bytes;
    // SAFETY: the kernel filled `control` up to the length that it left in the header.
    for message in unsafe { control_messages(&header) } {
        // SAFETY: `control_messages` gives whole headers within `control`.
        let (level, kind) = unsafe { ((*message).cmsg_level, (*message).cmsg_type) };
        if level == libc::SOL_UDP && kind == libc::UDP_GRO {
            // SAFETY: the data of this message is a C `int` (udp(7)); it may be unaligned.
            let size = unsafe {
                libc::CMSG_DATA(message)
                    .cast::<libc::c_int>()
                    .read_unaligned()
            };
            each = usize::try_from(size)
                .ok()
                .filter(|size| *size > 0)
                .unwrap_or(bytes);
        }
    }
    Ok(Joined { bytes, each })
}

/// A list of datagram buffers of equal size, sent or received by one call.
pub struct List {
    memory: Box<[u8]>,
    room: usize,
    /// Points into `memory`; kept for `headers`.
    parts: Box<[libc::iovec]>,
    /// Points into `parts`.
    headers: Box<[libc::mmsghdr]>,
}

// SAFETY: the pointers lead into memory that the list itself owns on the heap, and only methods that
// borrow the list use them.
unsafe impl Send for List {}

impl List {
    /// A list of `count` datagrams of `room` bytes each, filled with `fill`.
    pub fn new(count: usize, room: usize, fill: u8) -> List {
        let mut memory = vec![fill; count * room].into_boxed_slice();
        let part = |memory: &mut [u8]| libc::iovec {
            iov_base: memory.as_mut_ptr().cast(),
            iov_len: memory.len(),
        };
        let mut parts: Box<[libc::iovec]> = memory.chunks_exact_mut(room).map(part).collect();
        let headers = parts.iter_mut().map(socket::message_of).collect();
        List {
            memory,
            room,
            parts,
            headers,
        }
    }

    /// Number of datagram buffers.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// True without any buffer.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The buffer of one datagram.
    pub fn datagram_mut(&mut self, index: usize) -> &mut [u8] {
        &mut self.memory[index * self.room..][..self.room]
    }

    /// The datagram received at this index of the list.
    pub fn received(&self, index: usize) -> &[u8] {
        let length = self.headers[index].msg_len as usize;
        &self.memory[index * self.room..][..length.min(self.room)]
    }

    /// Sends the first `count` datagrams whole, and returns how many the kernel took (sendmmsg(2)).
    ///
    /// # Errors
    /// The error of the system call, when the kernel did not take the first.
    pub fn send(&mut self, socket: impl AsFd, count: usize) -> io::Result<usize> {
        let headers = &mut self.headers[..count];
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: `count` headers point to parts that point into `memory`, all owned by the list.
        let sent =
            unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), headers.len() as libc::c_uint, 0) };
        usize::try_from(sent).map_err(|_| io::Error::last_os_error())
    }

    /// Waits for one datagram, receives all that are queued, and returns their number (recvmmsg(2)).
    ///
    /// # Errors
    /// The error of the system call; `EAGAIN` when nothing was received in time.
    pub fn receive(&mut self, socket: impl AsFd, wait: Wait) -> io::Result<usize> {
        let flags = libc::MSG_WAITFORONE | wait.flags();
        let (headers, count) = (
            self.headers.as_mut_ptr(),
            self.headers.len() as libc::c_uint,
        );
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: `count` headers point to parts that point into `memory`, all owned by the list; the
        // parts' lengths are never changed.
        let received =
            unsafe { libc::recvmmsg(fd, headers, count, flags as _, std::ptr::null_mut()) };
        usize::try_from(received).map_err(|_| io::Error::last_os_error())
    }
}

const _: () = assert!(size_of::<Control>() >= 24);

#[cfg(test)]
#[allow(clippy::disallowed_macros)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn pair() -> (UdpSocket, UdpSocket) {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("binds");
        let (from, to) = (bind(), bind());
        from.connect(to.local_addr().expect("address"))
            .expect("connects");
        (from, to)
    }

    #[test]
    fn list_keeps_datagrams_separate() {
        let (from, to) = pair();
        let mut out = List::new(3, 8, 7);
        (0..3).for_each(|index| out.datagram_mut(index)[0] = index as u8);
        assert_eq!(out.send(&from, 3).expect("sends"), 3);
        let mut into = List::new(4, 16, 0);
        assert_eq!(into.receive(&to, Wait::Sleep).expect("receives"), 3);
        for index in 0..3 {
            assert_eq!(into.received(index), [index as u8, 7, 7, 7, 7, 7, 7, 7]);
        }
        let nothing = into.receive(&to, Wait::Never).expect_err("nothing more");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn joined_datagrams_have_a_length() {
        let (from, to) = pair();
        let joins = socket::set_int(&to, socket::UDP_GRO, 1);
        let cuts = socket::set_int(&from, socket::UDP_SEGMENT, 100);
        if joins.is_err() || cuts.is_err() {
            eprintln!("this kernel has no UDP_GRO or UDP_SEGMENT: not tested");
            return;
        }
        from.send(&[1; 1000]).expect("sends");
        from.send(&[1; 50]).expect("sends");
        let mut buffer = [0; 65_536];
        let mut bytes = 0;
        while bytes < 1000 {
            let joined = receive_joined(&to, &mut buffer, Wait::Sleep).expect("receives");
            assert_eq!(joined.each, 100);
            bytes += joined.bytes;
        }
        let single = receive_joined(&to, &mut buffer, Wait::Sleep).expect("receives");
        assert_eq!(
            single,
            Joined {
                bytes: 50,
                each: 50
            }
        );
    }
}
