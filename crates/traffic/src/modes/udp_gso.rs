//! `gso` and `gro`: many datagrams pass the stack as one (`UDP_SEGMENT`, `UDP_GRO`; udp(7)).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use bitcost_model::conditions::Conditions;
use bitcost_model::place::IpVersion;
use bitcost_sys::datagram::{Wait, receive_joined};
use bitcost_sys::socket::{self, IP_MTU, IPV6_MTU, UDP_GRO, UDP_SEGMENT};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, getsockname, send};

use super::fast::{FastMode, wait};
use crate::control::Control;
use crate::datagrams::Datagrams;
use crate::loops::{Amount, Handed, send_batches};
use crate::pacing::Pacer;
use crate::sequence::Tag;
use crate::syscalls::errno;

/// Most datagrams of one call: 128 since Linux 6.9, 64 before (`UDP_MAX_SEGMENTS`).
const SEGMENTS_MAX: usize = 128;
const SEGMENTS_MAX_BEFORE: usize = 64;

/// IP and UDP headers, in bytes, of IPv4 and of IPv6.
const HEADERS: [i32; 2] = [28, 48];

struct Sender {
    messages: Vec<u8>,
    size: usize,
    most: usize,
    tag: Tag,
    amount: Amount,
}

/// Makes the kernel segment the data of one call.
pub fn sender(
    socket: BorrowedFd<'_>,
    conditions: &Conditions,
    tag: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let size = conditions.message_size_bytes as usize;
    let is_ipv6 = getsockname(socket)?.address_family() == AddressFamily::INET6;
    let mtu = socket::get_int(socket, if is_ipv6 { IPV6_MTU } else { IP_MTU })?;
    if size as i64 > i64::from(mtu - HEADERS[usize::from(is_ipv6)]) {
        return Err(Errno::MSGSIZE.into());
    }
    socket::set_int(socket, UDP_SEGMENT, size as i32)?;
    let most = (IpVersion::V4.udp_payload_max() as usize / size).clamp(1, SEGMENTS_MAX);
    Ok(Box::new(Sender {
        messages: vec![0x5A; most * size],
        size,
        most,
        tag,
        amount: Amount::of(conditions),
    }))
}

impl FastMode for Sender {
    fn run(
        &mut self,
        socket: BorrowedFd<'_>,
        control: &Control,
        pacer: &mut Option<Pacer>,
    ) -> Result<(), Errno> {
        let Sender {
            messages,
            size,
            most,
            tag,
            amount,
        } = self;
        let mut number = 0;
        send_batches(
            control,
            *size,
            *most as u64,
            *amount,
            pacer,
            |phase, count, length| {
                let mut count = count as usize;
                for (message, number) in messages.chunks_exact_mut(*size).take(count).zip(number..)
                {
                    tag.write(message, phase, number);
                }
                // Only a single message may be shorter.
                let bytes = |count: usize| if count == 1 { length } else { count * *size };
                let sent = match send(socket, &messages[..bytes(count)], SendFlags::empty()) {
                    Err(Errno::INVAL) if count > SEGMENTS_MAX_BEFORE => {
                        count = SEGMENTS_MAX_BEFORE;
                        *most = SEGMENTS_MAX_BEFORE;
                        send(socket, &messages[..bytes(count)], SendFlags::empty())
                    }
                    result => result,
                };
                sent?;
                number += count as u64;
                Ok(Handed::at_once(count as u64))
            },
        )
    }
}

struct Receiver {
    buffer: Vec<u8>,
    wait: Wait,
    datagrams: Datagrams,
}

/// Receives the datagrams that the kernel joined.
pub fn receiver(
    socket: BorrowedFd<'_>,
    conditions: &Conditions,
    tag: Tag,
) -> io::Result<Box<dyn FastMode>> {
    socket::set_int(socket, UDP_GRO, 1)?;
    let buffer = vec![0; (IpVersion::V6.udp_payload_max() as usize).next_power_of_two()];
    Ok(Box::new(Receiver {
        buffer,
        wait: wait(conditions),
        datagrams: Datagrams::of(conditions, tag),
    }))
}

impl FastMode for Receiver {
    fn run(
        &mut self,
        socket: BorrowedFd<'_>,
        control: &Control,
        _pacer: &mut Option<Pacer>,
    ) -> Result<(), Errno> {
        let Receiver {
            buffer,
            wait,
            datagrams,
        } = self;
        datagrams.receive(control, |datagrams| {
            let joined = receive_joined(socket.as_fd(), buffer, *wait).map_err(errno)?;
            datagrams.take_all(control, buffer[..joined.bytes].chunks(joined.each.max(1)));
            Ok(())
        })
    }

    fn datagrams(&self) -> Option<&Datagrams> {
        Some(&self.datagrams)
    }
}
