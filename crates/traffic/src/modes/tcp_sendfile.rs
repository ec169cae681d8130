//! `sendfile`: a message's pages are sent from a file in memory.

use std::fs::File;
use std::io::Write;

use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;

use super::mover::{self, Place, Prepared};
use crate::loops::{Supply, send_messages};

pub fn sender(on: &Place) -> Prepared {
    let mut file = File::from(memfd_create("bitcost message", MemfdFlags::CLOEXEC)?);
    file.write_all(&vec![0x5A; on.conditions.message_size_bytes as usize])?;
    let supply = Supply::of(on.conditions);
    mover::sender(move |on| {
        let mut is_repeated = false;
        send_messages(on.control, supply, |_, done, length| {
            if let Some(pacer) = on.pacer
                && done == 0
                && !is_repeated
            {
                pacer.wait(on.control);
            }
            let sent = sendfile(on.socket, &file, Some(&mut (done as u64)), length - done);
            is_repeated = sent == Err(Errno::INTR);
            sent
        })
    })
}
