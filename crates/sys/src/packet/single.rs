//! A packet socket that receives and sends one packet per call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::raw::{EVERY_PROTOCOL, bind, open};
use crate::outcome::checked;

/// A socket that receives and sends the packets of a device.
#[derive(Debug)]
pub struct PacketSocket {
    socket: OwnedFd,
}

impl PacketSocket {
    /// Opens one on a device of the calling thread's network namespace.
    ///
    /// # Errors
    /// The error of the system call: `EPERM` without `CAP_NET_RAW` over the namespace.
    pub fn open(device_index: u32) -> io::Result<PacketSocket> {
        let socket = open()?;
        bind(&socket, device_index, EVERY_PROTOCOL)?;
        Ok(PacketSocket { socket })
    }

    /// Receives the next packet into `buffer` and returns its length; absent where there is none.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let (pointer, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the pointer and length describe `buffer`.
        let bytes =
            unsafe { libc::recv(self.socket.as_raw_fd(), pointer, length, libc::MSG_DONTWAIT) };
        match checked(bytes) {
            Ok(bytes) => Ok(Some(bytes.unsigned_abs())),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sends a packet.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length describe `packet`, which the kernel only reads.
        checked(unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
            )
        })?;
        Ok(())
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
