//! Datagrams with what the kernel says of them: that it has joined them (`UDP_GRO`), or when it received them (`SO_TIMESTAMPNS`).

use std::io;
use std::os::fd::AsFd;

use rustix::net::RecvFlags;

use crate::control;

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
pub fn receive_joined(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: RecvFlags,
) -> io::Result<Joined> {
    let mut each = None;
    let bytes = control::receive(socket, buffer, flags, |said| {
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

/// One datagram with the time at which it came.
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

#[cfg(test)]
#[allow(clippy::disallowed_macros)]
mod tests {
    use std::net::UdpSocket;

    use super::*;
    use crate::socket;

    fn pair() -> (UdpSocket, UdpSocket) {
        let bind = || UdpSocket::bind("127.0.0.1:0").expect("binds");
        let (from, to) = (bind(), bind());
        from.connect(to.local_addr().expect("address"))
            .expect("connects");
        (from, to)
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
            let joined = receive_joined(&to, &mut buffer, RecvFlags::empty()).expect("receives");
            assert_eq!(joined.each, 100);
            bytes += joined.bytes;
        }
        let single = receive_joined(&to, &mut buffer, RecvFlags::empty()).expect("receives");
        assert_eq!(
            single,
            Joined {
                bytes: 50,
                each: 50
            }
        );
    }
}
