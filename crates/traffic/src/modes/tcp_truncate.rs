//! `truncate`: the kernel discards received data instead of copying it (`MSG_TRUNC`; tcp(7)).

use std::io;
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::Conditions;
use rustix::net::{RecvFlags, recv};

use super::fast::{FastMode, byte_receiver, receive_room};
use crate::loops::receive_flags;
use crate::sequence::Tag;

/// Receives without a copy.
pub fn receiver(
    socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    // Never written to.
    let mut room = vec![0; receive_room(conditions)];
    let flags = receive_flags(conditions) | RecvFlags::TRUNC;
    Ok(byte_receiver(conditions, socket, [], move |socket, _| {
        recv(socket, &mut room[..], flags).map(|(_, length)| length)
    }))
}
