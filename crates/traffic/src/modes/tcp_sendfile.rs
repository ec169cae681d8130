//! `sendfile`: a message's pages are sent from a file in memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::Conditions;
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;

use super::fast::{FastMode, hold};
use crate::control::Control;
use crate::loops::{Amount, send_messages};
use crate::pacing::Pacer;
use crate::sequence::Tag;

struct Sender {
    file: File,
    size: usize,
    amount: Amount,
}

/// Makes the file.
pub fn sender(
    _socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let size = conditions.message_size_bytes as usize;
    let mut file = File::from(memfd_create("bitcost message", MemfdFlags::CLOEXEC)?);
    file.write_all(&vec![0x5A; size])?;
    Ok(Box::new(Sender {
        file,
        size,
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
        let send_rest = |done: usize, length: usize| {
            let mut offset = done as u64;
            sendfile(socket, &self.file, Some(&mut offset), length - done)
        };
        let send_one = |_, length| {
            hold(pacer, control);
            send_rest(0, length)
        };
        send_messages(control, self.size, self.amount, send_one, send_rest)
    }
}
