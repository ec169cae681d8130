//! `tcp_stream`: one TCP connection, one send call per message.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use bitcost_model::protocol::Peer;
use bitcost_model::record::{FlowRecord, Role};
use bitcost_sys::socket::{self, SO_RCVLOWAT};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::control::{Control, Phase};
use crate::flow::{Flow, Ready, Sent, TrafficError};
use crate::latency::{Recorder, timed};
use crate::loops::{Supply, receive_flags, receiver_delay, send_messages};
use crate::low_water::LowWater;
use crate::message_buffer::MessageBuffer;
use crate::modes;
use crate::options::tcp_info;
use crate::pacing::{self, Pacer};
use crate::syscalls::receive;
use crate::tcp;
use crate::work::Work;
use crate::workload::{Endpoints, Run};

pub const WORKLOAD: Endpoints = Endpoints::Tcp { client, server };

pub fn client(run: &Run, stream: TcpStream, _peer: SocketAddr) -> Result<Ready, TrafficError> {
    let mut in_effect = tcp::in_effect(&stream, run.conditions, true);
    in_effect.extend(pacing::apply(&stream, run.conditions)?);
    modes::ready(
        Role::Sender,
        run.conditions,
        run.token,
        stream,
        in_effect,
        |stream| {
            let memory = MessageBuffer::of_sender(
                run.conditions.message_size_bytes,
                run.conditions.buffers,
                Work::of_unpaced_sender(run.conditions),
            );
            Box::new(Sender {
                pacer: Pacer::of(run.conditions, &stream),
                stream,
                memory,
                supply: Supply::of(run.conditions),
                times: Recorder::of(run.conditions),
                peer: run.peer,
            })
        },
    )
}

fn server(run: &Run, stream: TcpStream, _listener: TcpListener) -> Result<Ready, TrafficError> {
    receiver(run, stream)
}

pub fn receiver(run: &Run, stream: TcpStream) -> Result<Ready, TrafficError> {
    if let Some(bytes) = run.conditions.receive_low_water_bytes {
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        socket::set_int(&stream, SO_RCVLOWAT, value).map_err(TrafficError::system(format!(
            "SO_RCVLOWAT of {bytes} bytes"
        )))?;
    }
    let in_effect = tcp::in_effect(&stream, run.conditions, false);
    modes::ready(
        Role::Receiver,
        run.conditions,
        run.token,
        stream,
        in_effect,
        |stream| {
            Box::new(Receiver {
                low_water: LowWater::of(run.conditions, &stream),
                stream,
                memory: MessageBuffer::of_receiver(run.conditions),
                flags: receive_flags(run.conditions),
                delay: receiver_delay(run.conditions),
                most_bytes: match run.peer {
                    Peer::Bitcost => None,
                    Peer::Iperf3 => run.conditions.stop_bytes,
                },
                peer: run.peer,
            })
        },
    )
}

struct Sender {
    stream: TcpStream,
    memory: MessageBuffer,
    supply: Supply,
    pacer: Option<Pacer>,
    times: Option<Recorder>,
    peer: Peer,
}

impl Sender {
    /// Sends messages until the amount is sent or the window is over.
    #[inline]
    fn send_all(&mut self, control: &Control) -> Result<(), Errno> {
        let (stream, supply) = (&self.stream, self.supply);
        let (memory, pacer, times) = (&mut self.memory, &mut self.pacer, &mut self.times);
        let mut hold = || {
            if let Some(pacer) = pacer {
                pacer.wait(control);
            }
        };
        let call = |bytes: &[u8]| rustix::net::send(stream, bytes, SendFlags::NOSIGNAL);
        if let Some(message) = memory.only() {
            return send_messages(control, supply, |phase, done, length| {
                if done > 0 {
                    return call(&message[done..length]);
                }
                hold();
                timed(times, phase, || call(&message[..length]))
            });
        }
        send_messages(control, supply, |phase, done, length| {
            if done > 0 {
                return call(&memory.present()[done..length]);
            }
            hold();
            let message = memory.next(length);
            timed(times, phase, || call(&message[..length]))
        })
    }
}

impl Flow for Sender {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.stream.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.send_all(control).map_err(|error| {
            let asked = format!("send messages of up to {} bytes", self.supply.size());
            TrafficError::errno(asked)(error)
        })?;
        if control.phase() == Phase::Abort {
            return Ok(());
        }
        match self.peer {
            Peer::Bitcost => tcp::close_gracefully(&mut self.stream),
            Peer::Iperf3 => tcp::await_acknowledged(&self.stream),
        }
        .map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: Sent) -> FlowRecord {
        let pacing = self.pacer.as_ref().map(Pacer::record);
        let latency = self.times.as_ref().map(Recorder::latency);
        FlowRecord {
            tcp_info: tcp_info(&self.stream),
            pacing,
            latency,
            ..FlowRecord::default()
        }
    }
}

struct Receiver {
    stream: TcpStream,
    memory: MessageBuffer,
    flags: RecvFlags,
    delay: Duration,
    low_water: LowWater,
    /// Bytes after which it ends, although the sender has more; absent: the sender ends.
    most_bytes: Option<u64>,
    peer: Peer,
}

impl Receiver {
    /// Receives until the sender has ended the connection, or the run is stopped.
    #[inline]
    fn receive_all(&mut self, control: &Control) -> Result<(), Errno> {
        let (stream, flags, delay) = (&self.stream, self.flags, self.delay);
        let (memory, low_water) = (&mut self.memory, &mut self.low_water);
        while control.phase() != Phase::Abort {
            match memory.receive(flags, |buffer, flags| receive(stream, buffer, flags)) {
                Ok(0) => break,
                Ok(length) => {
                    let phase = control.phase();
                    control.count_call(phase, length);
                    if low_water.is_due(phase) {
                        low_water.settle(stream, control);
                    }
                    memory.took(length);
                }
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    continue;
                }
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            if !delay.is_zero() {
                control.sleep(delay);
            }
        }
        Ok(())
    }

    /// Receives this number of bytes, or less where the sender ends the connection before.
    fn receive_up_to(&mut self, most: u64, control: &Control) -> Result<(), Errno> {
        let mut left = most;
        while left > 0 && control.phase() != Phase::Abort {
            let call = |buffer: &mut [u8], flags| {
                let length = left.min(buffer.len() as u64) as usize;
                receive(&self.stream, &mut buffer[..length], flags)
            };
            match self.memory.receive(self.flags, call) {
                Ok(0) => break,
                Ok(length) => {
                    control.count_call(control.phase(), length);
                    left -= length as u64;
                    self.memory.took(length);
                }
                Err(Errno::AGAIN) => control.count_empty(),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Flow for Receiver {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.stream.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.low_water.begin();
        let received = match self.most_bytes {
            None => self.receive_all(control),
            Some(most) => self.receive_up_to(most, control),
        };
        match (received, self.peer) {
            // It closes a connection of whose acknowledgement it does not wait.
            (Err(Errno::CONNRESET), Peer::Iperf3) | (Ok(()), Peer::Iperf3) => return Ok(()),
            (received, _) => received.map_err(TrafficError::errno("receive"))?,
        }
        self.stream
            .shutdown(Shutdown::Write)
            .map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: Sent) -> FlowRecord {
        let low_water_bytes = self.low_water.in_effect();
        FlowRecord {
            tcp_info: tcp_info(&self.stream),
            low_water_bytes,
            ..FlowRecord::default()
        }
    }
}
