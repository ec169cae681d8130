//! `udp_stream`: one UDP flow, one datagram per send call.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;

use bitcost_model::record::{FlowRecord, InEffect, Role};
use bitcost_sys::datagram::Wait;
use bitcost_sys::socket::{self, SO_TIMESTAMPNS};
use bitcost_sys::stamped::receive_stamped;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::control::Control;
use crate::datagrams::Datagrams;
use crate::delay_variation::{self, DelayRecorder};
use crate::flow::{Flow, Ready, Sent, TrafficError};
use crate::latency::{Recorder, timed};
use crate::loops::{Supply, receive_flags, send_messages};
use crate::message_buffer::MessageBuffer;
use crate::modes;
use crate::options;
use crate::pacing::{self, Pacer};
use crate::sequence::Tag;
use crate::syscalls::{errno, receive};
use crate::work::Work;
use crate::workload::{Endpoints, Run};

pub const WORKLOAD: Endpoints = Endpoints::Udp { client, server };

pub fn client(run: &Run, socket: UdpSocket, _peer: SocketAddr) -> Result<Ready, TrafficError> {
    let mut in_effect = options::in_effect(&socket, run.conditions, false);
    in_effect.extend(pacing::apply(&socket, run.conditions)?);
    in_effect.extend(run.conditions.delay_variation.then(|| stamped("true")));
    let tag = Tag::of_run(run);
    modes::ready(
        Role::Sender,
        run.conditions,
        run.token,
        socket,
        in_effect,
        |socket| {
            Box::new(Sender {
                pacer: Pacer::of(run.conditions, &socket),
                socket,
                memory: MessageBuffer::of_sender(
                    run.conditions.message_size_bytes,
                    run.conditions.buffers,
                    Work::of_unpaced_sender(run.conditions),
                ),
                supply: Supply::of(run.conditions),
                extras: Extras {
                    tag,
                    stamps: run.conditions.delay_variation,
                    times: Recorder::of(run.conditions),
                },
            })
        },
    )
}

pub fn server(run: &Run, socket: UdpSocket) -> Result<Ready, TrafficError> {
    let mut in_effect = options::in_effect(&socket, run.conditions, false);
    if run.conditions.delay_variation {
        in_effect.push(ask_for_timestamps(&socket)?);
    }
    let tag = Tag::of_run(run);
    modes::ready(
        Role::Receiver,
        run.conditions,
        run.token,
        socket,
        in_effect,
        |socket| {
            Box::new(Receiver {
                delays: if run.conditions.delay_variation {
                    DelayRecorder::new(tag)
                } else {
                    None
                },
                socket,
                memory: MessageBuffer::of_receiver(run.conditions),
                flags: receive_flags(run.conditions),
                datagrams: Datagrams::of(run.conditions, tag),
            })
        },
    )
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

struct Sender {
    socket: UdpSocket,
    memory: MessageBuffer,
    supply: Supply,
    pacer: Option<Pacer>,
    extras: Extras,
}

struct Extras {
    tag: Tag,
    stamps: bool,
    times: Option<Recorder>,
}

impl Sender {
    /// Sends messages, each with its number, until the amount is sent or the window is over.
    #[inline]
    fn send_all(&mut self, control: &Control) -> Result<(), Errno> {
        let (socket, supply) = (&self.socket, self.supply);
        let (memory, pacer, extras) = (&mut self.memory, &mut self.pacer, &mut self.extras);
        let mut number = 0;
        send_messages(control, supply, |phase, done, length| {
            if done > 0 {
                return Err(Errno::MSGSIZE);
            }
            if let Some(pacer) = pacer {
                pacer.wait(control);
            }
            let message = memory.next(length);
            extras.tag.write(message, phase, number);
            if extras.stamps {
                delay_variation::stamp(message);
            }
            let sent = timed(&mut extras.times, phase, || {
                rustix::net::send(socket, &message[..length], SendFlags::empty())
            })?;
            number += 1;
            Ok(sent)
        })
    }
}

impl Flow for Sender {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.send_all(control).map_err(|error| {
            let asked = format!("send datagrams of up to {} bytes", self.supply.size());
            TrafficError::errno(asked)(error)
        })
    }

    fn outcome(&self, _sent: Sent) -> FlowRecord {
        let latency = self.extras.times.as_ref().map(Recorder::latency);
        FlowRecord {
            pacing: self.pacer.as_ref().map(Pacer::record),
            latency,
            ..FlowRecord::default()
        }
    }
}

struct Receiver {
    socket: UdpSocket,
    memory: MessageBuffer,
    flags: RecvFlags,
    datagrams: Datagrams,
    delays: Option<DelayRecorder>,
}

impl Receiver {
    /// Receives datagrams until everything has been received, or nothing more comes, and records when
    /// each was received, where requested.
    #[inline]
    fn receive_all(&mut self, control: &Control) -> Result<(), Errno> {
        let (socket, memory, flags) = (&self.socket, &mut self.memory, self.flags);
        let Some(delays) = &mut self.delays else {
            return self.datagrams.receive(control, |datagrams| {
                let length =
                    memory.receive(flags, |buffer, flags| receive(socket, buffer, flags))?;
                datagrams.take(control, &memory.present()[..length]);
                memory.took(length);
                Ok(())
            });
        };
        self.datagrams.receive(control, |datagrams| {
            let found = memory.receive(flags, |buffer, flags| {
                let wait = if flags.contains(RecvFlags::DONTWAIT) {
                    Wait::Never
                } else {
                    Wait::Sleep
                };
                receive_stamped(socket, buffer, wait).map_err(errno)
            })?;
            let buffer = memory.present();
            let datagram = &buffer[..found.bytes.min(buffer.len())];
            datagrams.take(control, datagram);
            if let Some(at_ns) = found.at_ns {
                delays.note(datagram, at_ns);
            }
            memory.took(found.bytes);
            Ok(())
        })
    }
}

impl Flow for Receiver {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.socket.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.receive_all(control)
            .map_err(TrafficError::errno("receive a datagram"))
    }

    fn outcome(&self, sent: Sent) -> FlowRecord {
        let delay_variation = self.delays.as_ref().map(DelayRecorder::variation);
        FlowRecord {
            sequence: self.datagrams.sequence(sent),
            delay_variation,
            ..FlowRecord::default()
        }
    }
}
