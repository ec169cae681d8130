//! `udp_stream` in a thread that other flows share.

use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use bitcost_model::conditions::Conditions;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::silence::Silence;
use crate::control::{Control, Phase};
use crate::datagrams::Datagrams;
use crate::flow::{Multiplexed, Next, Outcome, Sent, TrafficError};
use crate::loops::{Supply, is_transient};
use crate::sequence::Tag;

/// The sender.
pub struct Sender {
    socket: UdpSocket,
    supply: Supply,
    tag: Tag,
    number: u64,
}

impl Sender {
    /// A sender over a socket that is connected to the receiver.
    pub fn new(socket: UdpSocket, conditions: &Conditions, tag: Tag) -> Sender {
        Sender {
            socket,
            supply: Supply::of(conditions),
            tag,
            number: 0,
        }
    }
}

impl Multiplexed for Sender {
    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn first(&self) -> Next {
        Next::Write
    }

    fn room(&self) -> usize {
        self.supply.size()
    }

    fn turn(
        &mut self,
        control: &Control,
        buffer: &mut [u8],
        calls: u32,
    ) -> Result<Next, TrafficError> {
        for _ in 0..calls {
            let Some((phase, length)) = self.supply.next(control) else {
                return Ok(Next::End);
            };
            self.tag
                .write(&mut buffer[..self.supply.size()], phase, self.number);
            match send(&self.socket, &buffer[..length], SendFlags::DONTWAIT) {
                Ok(bytes) => {
                    control.count_message(phase, bytes);
                    self.supply.took(1);
                    self.number += 1;
                }
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) if is_transient(error) => control.count_failed(phase),
                Err(error) => {
                    return Err(TrafficError::errno(format!(
                        "send a datagram of {length} bytes"
                    ))(error));
                }
            }
        }
        Ok(Next::Write)
    }

    fn is_due(&mut self, control: &Control, _now_ns: u64) -> bool {
        control.phase() as u8 >= Phase::Over as u8
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome::default()
    }
}

/// The receiver.
pub struct Receiver {
    socket: UdpSocket,
    room: usize,
    datagrams: Datagrams,
    silence: Silence,
    is_quiet: bool,
}

impl Receiver {
    /// A receiver over a socket that is connected to the sender.
    pub fn new(socket: UdpSocket, conditions: &Conditions, tag: Tag) -> Receiver {
        let room = conditions.receive_bytes() as usize;
        let datagrams = Datagrams::of(conditions, tag);
        Receiver {
            socket,
            room,
            datagrams,
            silence: Silence::default(),
            is_quiet: false,
        }
    }
}

impl Multiplexed for Receiver {
    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn first(&self) -> Next {
        Next::Read
    }

    fn room(&self) -> usize {
        self.room
    }

    fn turn(
        &mut self,
        control: &Control,
        buffer: &mut [u8],
        calls: u32,
    ) -> Result<Next, TrafficError> {
        for _ in 0..calls {
            match recv(&self.socket, &mut buffer[..self.room], RecvFlags::DONTWAIT) {
                Ok((length, _)) => self.datagrams.take(control, &buffer[..length]),
                Err(Errno::AGAIN) if self.is_quiet => return Ok(Next::End),
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    break;
                }
                Err(Errno::INTR | Errno::CONNREFUSED) => {}
                Err(error) => return Err(TrafficError::errno("receive a datagram")(error)),
            }
        }
        Ok(if self.datagrams.is_complete(control) {
            Next::End
        } else {
            Next::Read
        })
    }

    /// True once the sender has ended and everything was received, or nothing is received any more.
    fn is_due(&mut self, control: &Control, now_ns: u64) -> bool {
        self.is_quiet = self.silence.lasts(control, self.datagrams.total(), now_ns);
        self.is_quiet || self.datagrams.is_complete(control) || control.phase() == Phase::Abort
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        Outcome {
            sequence: self.datagrams.sequence(sent),
            ..Outcome::default()
        }
    }
}
