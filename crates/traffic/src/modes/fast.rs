//! The interface of a fast mode, and the functions that the modes share.

use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::{Conditions, ReceiveSize, Waiting};
use bitcost_sys::datagram::Wait;
use rustix::io::Errno;

use super::stream_receiver::StreamReceiver;
use crate::control::Control;
use crate::datagrams::Datagrams;
use crate::pacing::Pacer;

/// A fast mode of one endpoint, ready to move messages.
pub trait FastMode: Send {
    /// Moves messages over `socket` until the run is over; a sender delays them until their time.
    fn run(
        &mut self,
        socket: BorrowedFd<'_>,
        control: &Control,
        pacer: &mut Option<Pacer>,
    ) -> Result<(), Errno>;

    /// Reads what the kernel reports after the end of the connection.
    fn ended(&mut self, _socket: BorrowedFd<'_>) {}

    /// Counters that only this mode has.
    fn counters(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }

    /// The state of a receiver of a stream.
    fn stream(&self) -> Option<&StreamReceiver> {
        None
    }

    /// The state of a receiver of datagrams.
    fn datagrams(&self) -> Option<&Datagrams> {
        None
    }
}

/// The default size of one receive call of the modes that do not copy data to the program, in
/// bytes.
const ROOM: u32 = 1 << 20;

/// The size of one receive call of a TCP mode.
pub fn receive_room(conditions: &Conditions) -> usize {
    match conditions.receive_size_bytes {
        ReceiveSize::Bytes(bytes) => bytes as usize,
        ReceiveSize::Auto | ReceiveSize::Message => ROOM as usize,
    }
}

/// The way in which a receive call waits.
pub fn wait(conditions: &Conditions) -> Wait {
    match conditions.waiting {
        Waiting::Block => Wait::Sleep,
        Waiting::Spin => Wait::Never,
    }
}

/// Delays one message until its time, where the run is paced.
pub fn hold(pacer: &mut Option<Pacer>, control: &Control) {
    if let Some(pacer) = pacer {
        pacer.wait(control);
    }
}
