//! `sendmmsg` and `recvmmsg`: many datagrams in one call, each a separate packet in the stack.

use std::io;
use std::os::fd::BorrowedFd;

use bitcost_model::conditions::Conditions;
use bitcost_sys::datagram::{List, Wait};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::fast::{FastMode, wait};
use crate::control::Control;
use crate::datagrams::Datagrams;
use crate::loops::{Amount, Handed, send_batches};
use crate::pacing::Pacer;
use crate::sequence::Tag;
use crate::syscalls::errno;

/// Most datagrams of one call.
const LIST: usize = 64;

struct Sender {
    list: List,
    size: usize,
    tag: Tag,
    amount: Amount,
}

/// Sends lists.
pub fn sender(
    _socket: BorrowedFd<'_>,
    conditions: &Conditions,
    tag: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let size = conditions.message_size_bytes as usize;
    Ok(Box::new(Sender {
        list: List::new(LIST, size, 0x5A),
        size,
        tag,
        amount: Amount::of(conditions),
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
            list,
            size,
            tag,
            amount,
        } = self;
        let mut number = 0;
        send_batches(
            control,
            *size,
            LIST as u64,
            *amount,
            pacer,
            |phase, count, length| {
                for (index, number) in (0..count as usize).zip(number..) {
                    tag.write(list.datagram_mut(index), phase, number);
                }
                let sent = if length == *size {
                    list.send(socket, count as usize).map_err(errno)?
                } else {
                    send(socket, &list.datagram_mut(0)[..length], SendFlags::empty()).map(|_| 1)?
                };
                number += sent as u64;
                Ok(Handed::at_once(sent as u64))
            },
        )
    }
}

struct Receiver {
    list: List,
    wait: Wait,
    datagrams: Datagrams,
}

/// Receives lists.
pub fn receiver(
    _socket: BorrowedFd<'_>,
    conditions: &Conditions,
    tag: Tag,
) -> io::Result<Box<dyn FastMode>> {
    let list = List::new(LIST, conditions.receive_bytes() as usize, 0);
    Ok(Box::new(Receiver {
        list,
        wait: wait(conditions),
        datagrams: Datagrams::of(conditions, tag),
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
            list,
            wait,
            datagrams,
        } = self;
        datagrams.receive(control, |datagrams| {
            let count = list.receive(socket, *wait).map_err(errno)?;
            datagrams.take_all(control, (0..count).map(|index| list.received(index)));
            Ok(())
        })
    }

    fn datagrams(&self) -> Option<&Datagrams> {
        Some(&self.datagrams)
    }
}
