//! `truncate`: the kernel discards received data instead of copying it (`MSG_TRUNC`; tcp(7)).

use rustix::net::{RecvFlags, recv};

use super::mover::{Place, Prepared, byte_receiver, receive_room};
use crate::loops::receive_flags;

pub fn receiver(on: &Place) -> Prepared {
    // Never written to.
    let mut room = vec![0; receive_room(on.conditions)];
    let flags = receive_flags(on.conditions) | RecvFlags::TRUNC;
    byte_receiver(on, move |socket| {
        recv(socket, &mut room[..], flags).map(|(_, length)| length)
    })
}
