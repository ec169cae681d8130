//! `io_uring`: one multishot request fills buffers that the kernel takes from a ring (io_uring(7)).

use std::collections::BTreeMap;
use std::time::Duration;

use bitcost_model::conditions::ReceiveSize;
use bitcost_sys::datagram::Wait;
use bitcost_sys::uring::ReceiveRing;
use rustix::io::Errno;

use super::fast::{FastMode, Moving, Place, Prepared, wait};
use super::stream_receiver::StreamReceiver;
use crate::datagrams::{Datagrams, quiet};
use crate::syscalls::errno;

/// Memory of a flow's buffers, and of all flows' together, in bytes; the smallest and the largest
/// number of buffers.
const MEMORY: usize = 4 << 20;
const MEMORY_OF_ALL: usize = 64 << 20;
const BUFFERS_MIN: usize = 4;
const BUFFERS_MAX: usize = 1024;

/// The size of a stream's buffer, in bytes, where the message is larger and the run requests none.
const ROOM_MAX: usize = 1 << 20;

struct Receiver {
    ring: ReceiveRing,
    wait: Wait,
    /// The longest time of one wait.
    quiet: Duration,
    kept: Kept,
}

/// The state for a stream or for datagrams.
enum Kept {
    /// The state of a connection.
    Stream(StreamReceiver),
    /// The state of a datagram socket.
    Datagrams(Datagrams),
}

/// Makes the ring and its buffers.
pub fn receiver(on: &Place) -> Prepared {
    let conditions = on.conditions;
    let is_datagram = conditions.workload.is_datagram();
    let room = conditions.receive_bytes() as usize;
    let is_free = !is_datagram && !matches!(conditions.receive_size_bytes, ReceiveSize::Bytes(_));
    let room = if is_free { room.min(ROOM_MAX) } else { room };
    let memory = MEMORY.min(MEMORY_OF_ALL / conditions.flows.max(1) as usize);
    let count = (memory / room)
        .clamp(BUFFERS_MIN, BUFFERS_MAX)
        .next_power_of_two();
    Ok(Box::new(Receiver {
        ring: ReceiveRing::new(on.socket, count as u16, room)?,
        wait: wait(conditions),
        quiet: quiet(conditions),
        kept: if is_datagram {
            Kept::Datagrams(Datagrams::of(conditions, on.tag))
        } else {
            Kept::Stream(StreamReceiver::of(conditions, on.socket))
        },
    }))
}

impl FastMode for Receiver {
    fn run(&mut self, on: Moving) -> Result<(), Errno> {
        let Receiver {
            ring,
            wait,
            quiet,
            kept,
        } = self;
        let result = match kept {
            Kept::Datagrams(datagrams) => datagrams.receive(on.control, |datagrams| {
                ring.receive(*wait, *quiet).map_err(errno)?;
                datagrams.take_all(on.control, ring.received());
                Ok(())
            }),
            Kept::Stream(stream) => stream.receive(on.socket, on.control, || {
                ring.receive(*wait, *quiet).map_err(errno)
            }),
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

    fn datagrams(&self) -> Option<&Datagrams> {
        match &self.kept {
            Kept::Datagrams(datagrams) => Some(datagrams),
            Kept::Stream(_) => None,
        }
    }

    fn stream(&self) -> Option<&StreamReceiver> {
        match &self.kept {
            Kept::Stream(stream) => Some(stream),
            Kept::Datagrams(_) => None,
        }
    }
}
