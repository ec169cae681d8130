//! `udp_stream`: one UDP flow, one datagram per send call.

use std::net::UdpSocket;

use bitcost_model::record::{InEffect, Role};
use bitcost_sys::datagram::{Stamped, receive_stamped};
use bitcost_sys::socket::{self, SO_TIMESTAMPNS};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::delay_variation;
use crate::flow::{Made, TrafficError};
use crate::loops::{Supply, receive_flags, send_messages};
use crate::message_buffer::MessageBuffer;
use crate::modes::{self, Place, Prepared, datagram_receiver};
use crate::options;
use crate::pacing;
use crate::syscalls::{errno, receive};
use crate::workload::{Endpoints, Run};

pub const WORKLOAD: Endpoints = Endpoints::Udp { client, server };

fn client(run: &Run, socket: UdpSocket) -> Result<Made, TrafficError> {
    let mut in_effect = options::in_effect(&socket, run.conditions, false);
    in_effect.extend(pacing::apply(&socket, run.conditions)?);
    in_effect.extend(run.conditions.delay_variation.then(|| stamped("true")));
    modes::made(run, Role::Sender, socket, in_effect, plain_sender)
}

fn server(run: &Run, socket: UdpSocket) -> Result<Made, TrafficError> {
    let mut in_effect = options::in_effect(&socket, run.conditions, false);
    if run.conditions.delay_variation {
        in_effect.push(ask_for_timestamps(&socket)?);
    }
    modes::made(run, Role::Receiver, socket, in_effect, plain_receiver)
}

fn stamped(actual: &str) -> InEffect {
    InEffect::new("delay_variation", Some("true"), Some(actual))
}

/// Requests kernel timestamps of received datagrams, and reads back whether they are in effect.
fn ask_for_timestamps(socket: &UdpSocket) -> Result<InEffect, TrafficError> {
    socket::set_int(socket, SO_TIMESTAMPNS, 1).map_err(TrafficError::system("SO_TIMESTAMPNS"))?;
    let is_on = socket::get_int(socket, SO_TIMESTAMPNS).is_ok_and(|on| on != 0);
    Ok(stamped(if is_on { "true" } else { "false" }))
}

/// Sends messages, each with its number, until the amount is sent or the window is over.
fn plain_sender(on: &Place) -> Prepared {
    let mut memory = MessageBuffer::of_sender(on.conditions);
    let supply = Supply::of(on.conditions);
    let (tag, is_stamped) = (on.tag, on.conditions.delay_variation);
    modes::sender(move |on| {
        let mut number = 0;
        send_messages(on.control, supply, |phase, done, length| {
            if done > 0 {
                return Err(Errno::MSGSIZE);
            }
            if let Some(pacer) = on.pacer {
                pacer.wait(on.control);
            }
            let message = memory.next(length);
            tag.write(message, phase, number);
            if is_stamped {
                delay_variation::stamp(message);
            }
            let sent = rustix::net::send(on.socket, &message[..length], SendFlags::empty())?;
            number += 1;
            Ok(sent)
        })
    })
}

/// Receives one datagram per call, for delay variation with the time at which the kernel did.
fn plain_receiver(on: &Place) -> Prepared {
    let mut memory = MessageBuffer::of_receiver(on.conditions);
    let flags = receive_flags(on.conditions);
    let is_stamped = on.conditions.delay_variation;
    datagram_receiver(on, move |socket, control, datagrams| {
        let found = memory.receive(flags, |buffer, flags| match is_stamped {
            true => receive_stamped(socket, buffer, flags).map_err(errno),
            false => receive(socket, buffer, flags).map(|bytes| Stamped { bytes, at_ns: None }),
        })?;
        let buffer = memory.present();
        let datagram = &buffer[..found.bytes.min(buffer.len())];
        datagrams.take(control, datagram);
        if let Some(at_ns) = found.at_ns {
            datagrams.note_time(datagram, at_ns);
        }
        memory.took(found.bytes);
        Ok(())
    })
}
