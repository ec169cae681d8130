//! The interface of a mode, and the functions that the modes share.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, ReceiveSize};
use bitcost_model::record::FlowRecord;
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::datagrams::Datagrams;
use crate::loops::receiver_delay;
use crate::low_water::LowWater;
use crate::pacing::Pacer;
use crate::sequence::Tag;

pub struct Place<'a> {
    pub socket: BorrowedFd<'a>,
    pub conditions: &'a Conditions,
    pub tag: Tag,
}

pub type Prepared = io::Result<Box<dyn Mover>>;

pub struct Moving<'a> {
    pub socket: BorrowedFd<'a>,
    pub control: &'a Control,
    pub pacer: &'a mut Option<Pacer>,
}

pub trait Mover: Send {
    fn run(&mut self, on: Moving) -> Result<(), Errno>;

    /// Adds to the outcome what it knows, given how many messages the sender counted in the window, and in all.
    fn report(&self, _sent: [u64; 2], _outcome: &mut FlowRecord) {}
}

/// The most messages of one call: as requested, and no more than the mode has room for.
pub fn most_messages(conditions: &Conditions, room: usize) -> usize {
    let requested = conditions.messages_per_call;
    requested.map_or(room, |most| room.min(most as usize))
}

/// A sender, which has nothing to report.
pub fn sender(run: impl FnMut(Moving) -> Result<(), Errno> + Send + 'static) -> Prepared {
    Ok(Box::new(Sender(run)))
}

struct Sender<F>(F);

impl<F: FnMut(Moving) -> Result<(), Errno> + Send> Mover for Sender<F> {
    fn run(&mut self, on: Moving) -> Result<(), Errno> {
        (self.0)(on)
    }
}

struct ByteReceiver<C> {
    delay: Duration,
    low_water: LowWater,
    call: C,
}

/// A receiver of a stream until the sender has ended the connection. `call` receives once and returns the number of bytes.
pub fn byte_receiver<C>(on: &Place, call: C) -> Prepared
where
    C: FnMut(BorrowedFd<'_>) -> Result<usize, Errno> + Send + 'static,
{
    Ok(Box::new(ByteReceiver {
        delay: receiver_delay(on.conditions),
        low_water: LowWater::of(on.conditions, on.socket),
        call,
    }))
}

impl<C> Mover for ByteReceiver<C>
where
    C: FnMut(BorrowedFd<'_>) -> Result<usize, Errno> + Send,
{
    fn run(&mut self, on: Moving) -> Result<(), Errno> {
        self.low_water.begin();
        loop {
            let phase = on.control.phase();
            if phase == Phase::Abort {
                return Ok(());
            }
            if self.low_water.is_due(phase) {
                self.low_water.settle(on.socket, on.control);
            }
            match (self.call)(on.socket) {
                Ok(0) => return Ok(()),
                Ok(length) => on.control.count_call(on.control.phase(), length),
                Err(Errno::AGAIN) => {
                    on.control.count_empty();
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            if !self.delay.is_zero() {
                on.control.sleep(self.delay);
            }
        }
    }

    fn report(&self, _sent: [u64; 2], outcome: &mut FlowRecord) {
        outcome.low_water_bytes = self.low_water.in_effect();
    }
}

struct DatagramReceiver<C> {
    datagrams: Datagrams,
    call: C,
}

/// A receiver of datagrams. `call` receives once and gives the datagrams to their counter.
pub fn datagram_receiver<C>(on: &Place, call: C) -> Prepared
where
    C: FnMut(BorrowedFd<'_>, &Control, &mut Datagrams) -> Result<(), Errno> + Send + 'static,
{
    Ok(Box::new(DatagramReceiver {
        datagrams: Datagrams::of(on.conditions, on.tag),
        call,
    }))
}

impl<C> Mover for DatagramReceiver<C>
where
    C: FnMut(BorrowedFd<'_>, &Control, &mut Datagrams) -> Result<(), Errno> + Send,
{
    fn run(&mut self, on: Moving) -> Result<(), Errno> {
        let call = |datagrams: &mut Datagrams| (self.call)(on.socket, on.control, datagrams);
        self.datagrams.receive(on.control, call)
    }

    fn report(&self, sent: [u64; 2], outcome: &mut FlowRecord) {
        outcome.sequence = self.datagrams.sequence(sent);
        outcome.delay_variation = self.datagrams.delay_variation();
    }
}

/// The default size of one receive call of a mode that does not copy data to the program, in
/// bytes.
const ROOM: u32 = 4 << 20;

pub fn receive_room(conditions: &Conditions) -> usize {
    match conditions.receive_size_bytes {
        ReceiveSize::Bytes(bytes) => bytes as usize,
        ReceiveSize::Auto | ReceiveSize::Message => ROOM as usize,
    }
}
