//! `splice`: pages go through pipes and are never copied.
//!
//! The sender keeps a message's pages in one pipe, refers to them from a second one (`tee`), and
//! empties that into the socket. The receiver empties the socket into a pipe, and the pipe into
//! `/dev/null`.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::OwnedFd;

use bitcost_model::conditions::Waiting;
use rustix::io::Errno;
use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee,
};

use super::mover::{Place, Prepared, byte_receiver, message_sender, receive_room};

struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
    size: usize,
}

impl Pipe {
    /// A pipe for `bytes`, or for the most that the host allows.
    fn new(bytes: usize) -> io::Result<Pipe> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
        let allowed = std::fs::read_to_string("/proc/sys/fs/pipe-max-size").ok();
        let allowed = allowed
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(1 << 20);
        // The default size is kept where the user's pipes are over their limit.
        let size = match fcntl_setpipe_size(&into, bytes.min(allowed)) {
            Ok(_) | Err(Errno::PERM) => fcntl_getpipe_size(&into)?,
            Err(error) => return Err(error.into()),
        };
        Ok(Pipe { out, into, size })
    }
}

pub fn sender(on: &Place) -> Prepared {
    let size = on.conditions.message_size_bytes as usize;
    let (pages, way) = (Pipe::new(size)?, Pipe::new(size)?);
    // Bytes of the message that one round carries.
    let round = size.min(pages.size).min(way.size);
    File::from(pages.into.try_clone()?).write_all(&vec![0x5A; round])?;
    // Bytes in the second pipe.
    let mut waiting = 0;
    let none = SpliceFlags::empty();
    message_sender(on, ["tee_calls"], move |socket, done, length, [tees]| {
        if waiting == 0 {
            waiting = tee(&pages.out, &way.into, (length - done).min(round), none)?;
            *tees += 1;
        }
        let sent = splice(&way.out, None, socket, None, waiting, none)?;
        waiting -= sent;
        Ok(sent)
    })
}

pub fn receiver(on: &Place) -> Prepared {
    let room = receive_room(on.conditions);
    let pipe = Pipe::new(room)?;
    let nowhere = File::options().write(true).open("/dev/null")?;
    let none = SpliceFlags::empty();
    let flags = match on.conditions.waiting {
        Waiting::Block => none,
        Waiting::Spin => SpliceFlags::NONBLOCK,
    };
    byte_receiver(on, ["drain_calls"], move |socket, [drains]| {
        let length = splice(socket, None, &pipe.into, None, room, flags)?;
        let mut left = length;
        while left > 0 {
            left -= splice(&pipe.out, None, &nowhere, None, left, none)?;
            *drains += 1;
        }
        Ok(length)
    })
}
