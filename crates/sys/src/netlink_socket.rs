//! A blocking netlink socket; the module `netlink` interprets the messages.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
    socket_with,
};

use crate::socket::{self, IntOption};

/// The netlink protocol of a socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetlinkProtocol {
    /// NETLINK_ROUTE: links, addresses, qdiscs.
    Route,
    /// NETLINK_GENERIC: families such as ethtool.
    Generic,
}

/// A netlink socket, connected to the kernel.
///
/// It stays in the network namespace in which it was opened.
#[derive(Debug)]
pub struct NetlinkSocket {
    fd: OwnedFd,
}

impl NetlinkSocket {
    /// Opens a socket with extended acknowledgements, whose reads time out after `timeout`.
    pub fn open(protocol: NetlinkProtocol, timeout: Duration) -> io::Result<Self> {
        let protocol: Option<Protocol> = match protocol {
            NetlinkProtocol::Route => None,
            NetlinkProtocol::Generic => Some(netlink::GENERIC),
        };
        let fd = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            protocol,
        )?;
        set_socket_timeout(&fd, Timeout::Recv, Some(timeout))?;
        enable(&fd, libc::NETLINK_EXT_ACK)?;
        enable(&fd, libc::NETLINK_CAP_ACK)?;
        Ok(Self { fd })
    }

    /// Sends one buffer of messages to the kernel.
    pub fn send(&self, messages: &[u8]) -> io::Result<()> {
        let sent = send(&self.fd, messages, SendFlags::empty())?;
        if sent == messages.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    /// Receives one buffer of messages; returns how many bytes of `buffer` it fills.
    ///
    /// # Errors
    /// `WouldBlock` when the timeout has passed; `FileTooLarge` when the answer does not
    /// fit into `buffer`, which should have at least 32 KiB.
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match recv(&self.fd, &mut *buffer, RecvFlags::TRUNC) {
                Ok((kept, whole)) if kept == whole => return Ok(kept),
                Ok(_) => return Err(io::ErrorKind::FileTooLarge.into()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

fn enable(fd: &OwnedFd, option: libc::c_int) -> io::Result<()> {
    socket::set_int(fd, IntOption(libc::SOL_NETLINK, option), 1)
}
