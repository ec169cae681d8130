//! `truncate`: the kernel discards received data instead of copying it (`MSG_TRUNC`; tcp(7)).

use std::io;
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::Conditions;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::fast::{FastMode, receive_room};
use super::stream_receiver::StreamReceiver;
use crate::control::Control;
use crate::loops::receive_flags;
use crate::pacing::Pacer;
use crate::sequence::Tag;

struct Receiver {
    /// Never written to.
    room: Vec<u8>,
    flags: RecvFlags,
    stream: StreamReceiver,
}

/// Receives without a copy.
pub fn receiver(
    socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    Ok(Box::new(Receiver {
        room: vec![0; receive_room(conditions)],
        flags: receive_flags(conditions) | RecvFlags::TRUNC,
        stream: StreamReceiver::of(conditions, socket),
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
            room,
            flags,
            stream,
        } = self;
        stream.receive(socket, control, || {
            recv(socket, &mut room[..], *flags).map(|(_, length)| length)
        })
    }

    fn stream(&self) -> Option<&StreamReceiver> {
        Some(&self.stream)
    }
}
