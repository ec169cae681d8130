//! `sendfile`: a message's pages are sent from a file in memory.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::Conditions;
use rustix::fs::{MemfdFlags, memfd_create, sendfile};

use super::fast::{FastMode, message_sender};
use crate::sequence::Tag;

/// Makes the file.
pub fn sender(
    _socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let mut file = File::from(memfd_create("bitcost message", MemfdFlags::CLOEXEC)?);
    file.write_all(&vec![0x5A; conditions.message_size_bytes as usize])?;
    Ok(message_sender(
        conditions,
        [],
        move |socket, done, length, _| {
            sendfile(socket, &file, Some(&mut (done as u64)), length - done)
        },
    ))
}
