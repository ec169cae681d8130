//! `truncate`: the kernel drops what came instead of copying it (`MSG_TRUNC`; tcp(7)).

use std::io;
use std::os::fd::BorrowedFd;

use model::conditions::Conditions;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::taking::Taking;
use super::{Fast, receive_room};
use crate::control::Control;
use crate::loops::receive_flags;
use crate::pacing::Pacer;
use crate::sequence::Tag;

struct Receiver {
    /// Never written to.
    room: Vec<u8>,
    flags: RecvFlags,
    taking: Taking,
}

/// Receives without a copy.
pub fn receiver(socket: BorrowedFd<'_>, conditions: &Conditions, _: Tag) -> io::Result<Box<dyn Fast>> {
    Ok(Box::new(Receiver {
        room: vec![0; receive_room(conditions)],
        flags: receive_flags(conditions) | RecvFlags::TRUNC,
        taking: Taking::of(conditions, socket),
    }))
}

impl Fast for Receiver {
    fn run(&mut self, socket: BorrowedFd<'_>, control: &Control, _pacer: &mut Option<Pacer>) -> Result<(), Errno> {
        let Receiver { room, flags, taking } = self;
        taking.receive(socket, control, || recv(socket, &mut room[..], *flags).map(|(_, length)| length))
    }

    fn taking(&self) -> Option<&Taking> {
        Some(&self.taking)
    }
}
