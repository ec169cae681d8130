//! The receive call of the plain loops, and error numbers.

use std::io;
use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::RecvFlags;

#[inline]
pub fn receive(socket: impl AsFd, buffer: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
    rustix::net::recv(socket, buffer, flags).map(|(length, _)| length)
}

pub fn errno(error: io::Error) -> Errno {
    Errno::from_io_error(&error).unwrap_or(Errno::IO)
}
