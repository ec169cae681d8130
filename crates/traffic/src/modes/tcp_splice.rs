//! `splice`: pages go through pipes and are never copied.
//!
//! The sender keeps a message's pages in one pipe, refers to them from a second one (`tee`), and
//! empties that into the socket. The receiver empties the socket into a pipe, and the pipe into
//! `/dev/null`.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, OwnedFd};

use bitcost_model::conditions::{Conditions, Waiting};
use rustix::io::Errno;
use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee,
};

use super::fast::{FastMode, hold, receive_room};
use super::stream_receiver::StreamReceiver;
use crate::control::Control;
use crate::loops::{Amount, send_messages};
use crate::pacing::Pacer;
use crate::sequence::Tag;

/// The two ends of a pipe.
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

struct Sender {
    pages: Pipe,
    way: Pipe,
    size: usize,
    /// Bytes of the message that one round carries.
    round: usize,
    amount: Amount,
    tees: Cell<u64>,
}

/// Fills the pipe with a message.
pub fn sender(
    _socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let size = conditions.message_size_bytes as usize;
    let pages = Pipe::new(size)?;
    let way = Pipe::new(size)?;
    let round = size.min(pages.size).min(way.size);
    File::from(pages.into.try_clone()?).write_all(&vec![0x5A; round])?;
    Ok(Box::new(Sender {
        pages,
        way,
        size,
        round,
        amount: Amount::of(conditions),
        tees: Cell::new(0),
    }))
}

impl FastMode for Sender {
    fn run(
        &mut self,
        socket: BorrowedFd<'_>,
        control: &Control,
        pacer: &mut Option<Pacer>,
    ) -> Result<(), Errno> {
        let Sender {
            pages,
            way,
            size,
            round,
            amount,
            tees,
        } = self;
        // Bytes in the second pipe.
        let waiting = Cell::new(0);
        let send_rest = |done: usize, length: usize| {
            if waiting.get() == 0 {
                waiting.set(tee(
                    &pages.out,
                    &way.into,
                    (length - done).min(*round),
                    SpliceFlags::empty(),
                )?);
                tees.set(tees.get() + 1);
            }
            let sent = splice(
                &way.out,
                None,
                socket,
                None,
                waiting.get(),
                SpliceFlags::empty(),
            )?;
            waiting.set(waiting.get() - sent);
            Ok(sent)
        };
        let send_one = |_, length| {
            hold(pacer, control);
            send_rest(0, length)
        };
        send_messages(control, *size, *amount, send_one, send_rest)
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([("tee_calls", self.tees.get())])
    }
}

struct Receiver {
    pipe: Pipe,
    nowhere: File,
    room: usize,
    flags: SpliceFlags,
    stream: StreamReceiver,
    drains: u64,
}

/// Opens the pipe and `/dev/null`.
pub fn receiver(
    socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let room = receive_room(conditions);
    let flags = match conditions.waiting {
        Waiting::Block => SpliceFlags::empty(),
        Waiting::Spin => SpliceFlags::NONBLOCK,
    };
    Ok(Box::new(Receiver {
        pipe: Pipe::new(room)?,
        nowhere: File::options().write(true).open("/dev/null")?,
        room,
        flags,
        stream: StreamReceiver::of(conditions, socket),
        drains: 0,
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
            pipe,
            nowhere,
            room,
            flags,
            stream,
            drains,
        } = self;
        stream.receive(socket, control, || {
            let length = splice(socket, None, &pipe.into, None, *room, *flags)?;
            let mut left = length;
            while left > 0 {
                left -= splice(&pipe.out, None, &*nowhere, None, left, SpliceFlags::empty())?;
                *drains += 1;
            }
            Ok(length)
        })
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([("drain_calls", self.drains)])
    }

    fn stream(&self) -> Option<&StreamReceiver> {
        Some(&self.stream)
    }
}
