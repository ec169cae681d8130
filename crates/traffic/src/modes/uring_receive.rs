//! `io_uring`: one multishot request fills buffers that the kernel takes from a ring (io_uring(7)).

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use model::conditions::{Conditions, ReceiveSize};
use rustix::io::Errno;
use sys::datagram::Wait;
use sys::uring::ReceiveRing;

use super::taking::Taking;
use super::{Fast, errno, wait};
use crate::control::Control;
use crate::intake::{Intake, QUIET};
use crate::pacing::Pacer;
use crate::sequence::Tag;

/// Memory of a flow's buffers, and of all flows' together, in bytes; how many buffers there are at least and at most.
const MEMORY: usize = 4 << 20;
const MEMORY_OF_ALL: usize = 64 << 20;
const BUFFERS_MIN: usize = 4;
const BUFFERS_MAX: usize = 1024;

/// The room of a stream's buffer, in bytes, where the message is larger and the run does not say.
const ROOM_MAX: usize = 1 << 20;

struct Receiver {
    ring: ReceiveRing,
    wait: Wait,
    kept: Kept,
}

/// What it keeps of what came.
enum Kept {
    /// Of a connection.
    Stream(Taking),
    /// Of datagrams.
    Datagrams(Intake),
}

/// Makes the ring and its buffers.
pub fn receiver(socket: BorrowedFd<'_>, conditions: &Conditions, tag: Tag) -> io::Result<Box<dyn Fast>> {
    let is_datagram = conditions.workload.is_datagram();
    let room = conditions.receive_bytes() as usize;
    let is_free = !is_datagram && !matches!(conditions.receive_size_bytes, ReceiveSize::Bytes(_));
    let room = if is_free { room.min(ROOM_MAX) } else { room };
    let memory = MEMORY.min(MEMORY_OF_ALL / conditions.flows.max(1) as usize);
    let count = (memory / room).clamp(BUFFERS_MIN, BUFFERS_MAX).next_power_of_two();
    Ok(Box::new(Receiver {
        ring: ReceiveRing::new(socket, count as u16, room)?,
        wait: wait(conditions),
        kept: if is_datagram {
            Kept::Datagrams(Intake::of(conditions, tag))
        } else {
            Kept::Stream(Taking::of(conditions, socket))
        },
    }))
}

impl Fast for Receiver {
    fn run(&mut self, socket: BorrowedFd<'_>, control: &Control, _pacer: &mut Option<Pacer>) -> Result<(), Errno> {
        let Receiver { ring, wait, kept } = self;
        let result = match kept {
            Kept::Datagrams(intake) => intake.receive(control, |intake| {
                ring.receive(*wait, QUIET).map_err(errno)?;
                intake.take_all(control, ring.received());
                Ok(())
            }),
            Kept::Stream(taking) => taking.receive(socket, control, || ring.receive(*wait, QUIET).map_err(errno)),
        };
        ring.stop();
        result
    }

    fn counters(&self) -> BTreeMap<&'static str, u64> {
        let counts = self.ring.counts();
        BTreeMap::from([
            ("uring_enters", counts.enters),
            ("uring_submissions", counts.submissions),
            ("uring_completions", counts.completions),
            ("uring_out_of_buffers", counts.out_of_buffers),
        ])
    }

    fn intake(&self) -> Option<&Intake> {
        match &self.kept {
            Kept::Datagrams(intake) => Some(intake),
            Kept::Stream(_) => None,
        }
    }

    fn taking(&self) -> Option<&Taking> {
        match &self.kept {
            Kept::Stream(taking) => Some(taking),
            Kept::Datagrams(_) => None,
        }
    }
}
