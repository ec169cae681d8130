//! `gso` and `gro`: many datagrams pass the stack as one (`UDP_SEGMENT`, `UDP_GRO`; udp(7)).

use bitcost_model::place::IpVersion;
use bitcost_sys::datagram::receive_joined;
use bitcost_sys::socket::{self, IP_MTU, IPV6_MTU, UDP_GRO, UDP_SEGMENT};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SendFlags, getsockname, send};

use super::mover::{self, Place, Prepared, datagram_receiver, most_messages};
use crate::loops::{Handed, Supply, receive_flags, send_batches};
use crate::syscalls::errno;

/// Most datagrams of one call: 128 since Linux 6.9, 64 before (`UDP_MAX_SEGMENTS`).
const SEGMENTS_MAX: usize = 128;
const SEGMENTS_MAX_BEFORE: usize = 64;

/// IP and UDP headers, in bytes, of IPv4 and of IPv6.
const HEADERS: [i32; 2] = [28, 48];

pub fn sender(on: &Place) -> Prepared {
    let (socket, size) = (on.socket, on.conditions.message_size_bytes as usize);
    let is_ipv6 = getsockname(socket)?.address_family() == AddressFamily::INET6;
    let mtu = socket::get_int(socket, if is_ipv6 { IPV6_MTU } else { IP_MTU })?;
    if size as i64 > i64::from(mtu - HEADERS[usize::from(is_ipv6)]) {
        return Err(Errno::MSGSIZE.into());
    }
    socket::set_int(socket, UDP_SEGMENT, size as i32)?;
    let most = (IpVersion::V4.udp_payload_max() as usize / size)
        .clamp(1, most_messages(on.conditions, SEGMENTS_MAX));
    let mut messages = vec![0x5A; most * size];
    let (mut number, mut at_once, tag) = (0, most, on.tag);
    let supply = Supply::of(on.conditions);
    mover::sender(move |on| {
        let call = |phase, count: u64, length| {
            let count = count as usize;
            for (message, number) in messages.chunks_exact_mut(size).take(count).zip(number..) {
                tag.write(message, phase, number);
            }
            // Only a single message may be shorter.
            let mut rest = &messages[..if count == 1 { length } else { count * size }];
            let mut handed = Handed::default();
            while !rest.is_empty() {
                let part = rest.len().min(at_once * size);
                match send(on.socket, &rest[..part], SendFlags::empty()) {
                    Ok(_) => {
                        handed.messages += part.div_ceil(size) as u64;
                        handed.calls += 1;
                        rest = &rest[part..];
                    }
                    Err(Errno::INVAL) if part > SEGMENTS_MAX_BEFORE * size => {
                        at_once = SEGMENTS_MAX_BEFORE;
                    }
                    // The kernel makes no fragments of them: no later one passes.
                    Err(Errno::MSGSIZE) if handed.messages == 0 => return Err(Errno::INVAL),
                    Err(error) if handed.messages == 0 => return Err(error),
                    Err(_) => break,
                }
            }
            number += handed.messages;
            Ok(handed)
        };
        send_batches(on.control, supply, most as u64, on.pacer, call)
    })
}

pub fn receiver(on: &Place) -> Prepared {
    socket::set_int(on.socket, UDP_GRO, 1)?;
    let mut buffer = vec![0; (IpVersion::V6.udp_payload_max() as usize).next_power_of_two()];
    let flags = receive_flags(on.conditions);
    datagram_receiver(on, move |socket, control, datagrams| {
        let joined = receive_joined(socket, &mut buffer, flags).map_err(errno)?;
        datagrams.take_all(control, buffer[..joined.bytes].chunks(joined.each.max(1)));
        Ok(())
    })
}
