//! `sendmmsg` and `recvmmsg`: many datagrams in one call, each a separate packet in the stack.

use bitcost_sys::datagram::List;
use rustix::net::{SendFlags, send};

use super::fast::{Place, Prepared, batch_sender, datagram_receiver, most_messages, wait};
use crate::loops::Handed;
use crate::syscalls::errno;

/// Most datagrams of one call.
const LIST: usize = 64;

/// Sends lists.
pub fn sender(on: &Place) -> Prepared {
    let size = on.conditions.message_size_bytes as usize;
    let mut list = List::new(LIST, size, 0x5A);
    let (mut number, tag) = (0, on.tag);
    let most = most_messages(on.conditions, LIST);
    batch_sender(on, most, move |socket, phase, count, length| {
        for (index, number) in (0..count).zip(number..) {
            tag.write(list.datagram_mut(index), phase, number);
        }
        let sent = if length == size {
            list.send(socket, count).map_err(errno)?
        } else {
            send(socket, &list.datagram_mut(0)[..length], SendFlags::empty()).map(|_| 1)?
        };
        number += sent as u64;
        Ok(Handed::at_once(sent as u64))
    })
}

/// Receives lists.
pub fn receiver(on: &Place) -> Prepared {
    let mut list = List::new(LIST, on.conditions.receive_bytes() as usize, 0);
    let wait = wait(on.conditions);
    datagram_receiver(on, move |socket, control, datagrams| {
        let count = list.receive(socket, wait).map_err(errno)?;
        datagrams.take_all(control, (0..count).map(|index| list.received(index)));
        Ok(())
    })
}
