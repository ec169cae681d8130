//! A packet socket that sends many packets per call (sendmmsg(2)).

use std::io::{self, IoSlice};
use std::os::fd::OwnedFd;

use rustix::net::{MMsgHdr, SendAncillaryBuffer, SendFlags, sendmmsg};

use super::raw::{bind, open};
use crate::socket;

/// The most packets that one call sends.
pub const BATCH: usize = 64;

/// The send buffer to request, in bytes. What a queueing discipline behind the socket holds counts as in it; the kernel's
/// default holds three super-packets.
const SEND_BUFFER_BYTES: i32 = 16 << 20;

/// A socket that sends packets out of a device, and receives none.
pub struct BatchSender(OwnedFd);

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
        Ok(BatchSender(socket))
    }

    /// Sends the first of `packets`, at most [`BATCH`], and returns how many the kernel took.
    ///
    /// # Errors
    /// The error of the system call, when the kernel did not take the first: `ENOBUFS` where the device's queue dropped it.
    pub fn send<'a>(&self, packets: impl Iterator<Item = &'a [u8]>) -> io::Result<usize> {
        let parts = packets.take(BATCH).map(|packet| [IoSlice::new(packet)]);
        let parts: Vec<[IoSlice<'_>; 1]> = parts.collect();
        let mut controls = Vec::new();
        controls.resize_with(parts.len(), SendAncillaryBuffer::default);
        let each = parts.iter().zip(&mut controls);
        let messages = each.map(|(part, control)| MMsgHdr::new(part, control));
        let mut messages: Vec<MMsgHdr<'_>> = messages.collect();
        Ok(sendmmsg(&self.0, &mut messages, SendFlags::empty())?)
    }
}
