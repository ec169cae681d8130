//! Datagrams with the time at which the kernel received them (`SO_TIMESTAMPNS`).

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::datagram::{Wait, control_messages};
use crate::socket;

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
pub fn receive_stamped(socket: impl AsFd, buffer: &mut [u8], wait: Wait) -> io::Result<Stamped> {
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let mut control = crate::datagram::Control::default();
    // SAFETY: `msghdr` is integers and pointers only, so zero is valid.
    let mut header: libc::msghdr = unsafe { socket::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: the header describes `buffer` and `control`, which outlive the call.
    let bytes = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, wait.flags()) };
    let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
    let mut at_ns = None;
    // SAFETY: the kernel filled `control` up to the length that it left in the header.
    let messages = unsafe { control_messages(&header) };
    for message in messages {
        // SAFETY: `control_messages` gives whole headers within `control`.
        let (level, kind) = unsafe { ((*message).cmsg_level, (*message).cmsg_type) };
        if level == libc::SOL_SOCKET && kind == libc::SCM_TIMESTAMPNS {
            // SAFETY: the data of this message is a timespec (socket(7)); it may be unaligned.
            let time = unsafe {
                libc::CMSG_DATA(message)
                    .cast::<libc::timespec>()
                    .read_unaligned()
            };
            at_ns = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
        }
    }
    Ok(Stamped { bytes, at_ns })
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::clock::realtime_ns;

    #[test]
    fn received_datagram_has_a_kernel_timestamp() {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("binds");
        let (from, to) = (bind(), bind());
        socket::set_int(&to, socket::SO_TIMESTAMPNS, 1).expect("sets");
        let before_ns = realtime_ns();
        from.send_to(&[7; 100], to.local_addr().expect("address"))
            .expect("sends");
        let mut buffer = [0; 200];
        let stamped = receive_stamped(&to, &mut buffer, Wait::Sleep).expect("receives");
        assert_eq!((stamped.bytes, buffer[99], buffer[100]), (100, 7, 0));
        let at_ns = stamped.at_ns.expect("a time");
        assert!(
            (before_ns..=realtime_ns()).contains(&at_ns),
            "{before_ns} {at_ns}"
        );
        let nothing = receive_stamped(&to, &mut buffer, Wait::Never).expect_err("nothing more");
        assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
    }
}
