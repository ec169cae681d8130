//! Many datagrams in one call: joined by the kernel (`UDP_GRO`), and lists of them (`sendmmsg`, `recvmmsg`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::control;
use crate::outcome::checked;
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

/// Receives the datagrams that a socket with `UDP_GRO` has joined, or one datagram (udp(7)).
///
/// # Errors
/// The error of the system call; `EAGAIN` when nothing was received in time.
pub fn receive_joined(socket: impl AsFd, buffer: &mut [u8], wait: Wait) -> io::Result<Joined> {
    let mut each = None;
    let bytes = control::receive(socket, buffer, wait.flags(), |said| {
        if said.level == libc::SOL_UDP && said.kind == libc::UDP_GRO {
            // SAFETY: a C `int` (udp(7)) has no invalid values.
            each = unsafe { said.value::<libc::c_int>() };
        }
    })?;
    let each = each.and_then(|size| usize::try_from(size).ok());
    Ok(Joined {
        bytes,
        each: each.filter(|size| *size > 0).unwrap_or(bytes),
    })
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
        Ok(checked(sent)? as usize)
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
        Ok(checked(received)? as usize)
    }
}

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
