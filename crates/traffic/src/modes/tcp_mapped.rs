//! `mapped`: received pages are mapped, and partial pages are copied (`TCP_ZEROCOPY_RECEIVE`).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::{Conditions, Waiting};
use bitcost_sys::zerocopy::Mapping;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::fast::{FastMode, receive_room};
use super::stream_receiver::StreamReceiver;
use crate::control::Control;
use crate::pacing::Pacer;
use crate::sequence::Tag;
use crate::syscalls::errno;

/// The length of a wait before the next check whether the run is over.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

struct Receiver {
    mapping: Mapping,
    buffer: Vec<u8>,
    waiting: Waiting,
    stream: StreamReceiver,
    tally: Tally,
}

#[derive(Default)]
struct Tally {
    mapped_bytes: u64,
    copied_bytes: u64,
    waits: u64,
}

/// Maps the socket.
pub fn receiver(
    socket: BorrowedFd<'_>,
    conditions: &Conditions,
    _: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let page = rustix::param::page_size();
    let room = receive_room(conditions).next_multiple_of(page);
    Ok(Box::new(Receiver {
        mapping: Mapping::of(socket, room)?,
        buffer: vec![0; room],
        waiting: conditions.waiting,
        stream: StreamReceiver::of(conditions, socket),
        tally: Tally::default(),
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
            mapping,
            buffer,
            waiting,
            stream,
            tally,
        } = self;
        // The bytes that must be read by a receive call before the next pages.
        let mut to_read = 0;
        let mut is_something_there = false;
        stream.receive(socket, control, || {
            if to_read == 0 {
                if *waiting == Waiting::Block && !is_something_there {
                    tally.waits += 1;
                    if poll(
                        &mut [PollFd::from_borrowed_fd(socket, PollFlags::IN)],
                        Some(&LOOK),
                    )? == 0
                    {
                        return Err(Errno::AGAIN);
                    }
                }
                let taken = match mapping.receive(socket).map_err(errno) {
                    // The sender has ended the connection, and everything is read.
                    Err(Errno::IO) => return Ok(0),
                    taken => taken?,
                };
                to_read = taken.to_read;
                is_something_there = taken.mapped + taken.to_read > 0;
                if taken.mapped > 0 {
                    tally.mapped_bytes += taken.mapped as u64;
                    return Ok(taken.mapped);
                }
                if to_read == 0 {
                    return Err(Errno::AGAIN);
                }
            }
            let room = to_read.min(buffer.len());
            let (length, _) = recv(socket, &mut buffer[..room], RecvFlags::DONTWAIT)?;
            to_read -= length;
            tally.copied_bytes += length as u64;
            Ok(length)
        })
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::from([
            ("mapped_bytes", self.tally.mapped_bytes),
            ("copied_bytes", self.tally.copied_bytes),
            ("wait_calls", self.tally.waits),
        ])
    }

    fn stream(&self) -> Option<&StreamReceiver> {
        Some(&self.stream)
    }
}
