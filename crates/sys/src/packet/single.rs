//! A packet socket that receives and sends one packet per call.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::raw::{EVERY_PROTOCOL, bind, open};

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
    ///
    /// # Errors
    /// The error of the system call.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let (pointer, length) = (buffer.as_mut_ptr().cast(), buffer.len());
        // SAFETY: the pointer and length describe `buffer`.
        let bytes =
            unsafe { libc::recv(self.socket.as_raw_fd(), pointer, length, libc::MSG_DONTWAIT) };
        match usize::try_from(bytes) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::WouldBlock {
                    Ok(None)
                } else {
                    Err(error)
                }
            }
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// The error of the system call.
    pub fn send(&self, packet: &[u8]) -> io::Result<()> {
        // SAFETY: the pointer and length describe `packet`, which the kernel only reads.
        let sent = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
            )
        };
        if sent < 0 {
            Err(io::Error::last_os_error())
        } else {
            Ok(())
        }
    }
}

impl AsFd for PacketSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
