//! `mapped`: received pages are mapped, and partial pages are copied (`TCP_ZEROCOPY_RECEIVE`).

use bitcost_model::conditions::Waiting;
use bitcost_sys::zerocopy::Mapping;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use super::fast::{Place, Prepared, byte_receiver, receive_room};
use crate::syscalls::errno;

/// The length of a wait before the next check whether the run is over.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 100_000_000,
};

/// Maps the socket.
pub fn receiver(on: &Place) -> Prepared {
    let page = rustix::param::page_size();
    let room = receive_room(on.conditions).next_multiple_of(page);
    let (mut mapping, waiting) = (Mapping::of(on.socket, room)?, on.conditions.waiting);
    let mut buffer = vec![0; room];
    // The bytes that must be read by a receive call before the next pages.
    let mut to_read = 0;
    let mut is_something_there = false;
    let names = ["mapped_bytes", "copied_bytes", "wait_calls"];
    byte_receiver(on, names, move |socket, [mapped, copied, waits]| {
        if to_read == 0 {
            if waiting == Waiting::Block && !is_something_there {
                *waits += 1;
                let file = PollFd::from_borrowed_fd(socket, PollFlags::IN);
                if poll(&mut [file], Some(&LOOK))? == 0 {
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
                *mapped += taken.mapped as u64;
                return Ok(taken.mapped);
            }
            if to_read == 0 {
                return Err(Errno::AGAIN);
            }
        }
        let room = to_read.min(buffer.len());
        let (length, _) = recv(socket, &mut buffer[..room], RecvFlags::DONTWAIT)?;
        to_read -= length;
        *copied += length as u64;
        Ok(length)
    })
}
