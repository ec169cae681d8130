//! `truncate`: the kernel drops what came instead of copying it (`MSG_TRUNC`; tcp(7)).

use std::io;
use std::os::fd::BorrowedFd;

use model::conditions::Conditions;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::{Fast, receive_room, receive_stream};
use crate::control::Control;
use crate::loops::receive_flags;
use crate::pacing::Pacer;

struct Receiver {
    /// Never written to.
    room: Vec<u8>,
    flags: RecvFlags,
    delay_us: u32,
}

/// Receives without a copy.
pub fn receiver(_socket: BorrowedFd<'_>, conditions: &Conditions) -> io::Result<Box<dyn Fast>> {
    Ok(Box::new(Receiver {
        room: vec![0; receive_room(conditions)],
        flags: receive_flags(conditions) | RecvFlags::TRUNC,
        delay_us: conditions.receiver_delay_us,
    }))
}

impl Fast for Receiver {
    fn run(&mut self, socket: BorrowedFd<'_>, control: &Control, _pacer: &mut Option<Pacer>) -> Result<(), Errno> {
        let Receiver { room, flags, delay_us } = self;
        receive_stream(control, *delay_us, || recv(socket, &mut room[..], *flags).map(|(_, length)| length))
    }
}
