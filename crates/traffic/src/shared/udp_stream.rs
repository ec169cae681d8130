//! `udp_stream` in a thread that other flows share.

use std::net::UdpSocket;
use std::os::fd::{AsFd, BorrowedFd};

use model::conditions::Conditions;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::{Next, Shared, Silence};
use crate::control::{Control, Phase};
use crate::flow::{Outcome, Sent, TrafficError};
use crate::intake::Intake;
use crate::loops::{Supply, is_passing};
use crate::sequence::Tag;

/// The sending end.
pub struct Sender {
    socket: UdpSocket,
    supply: Supply,
    tag: Tag,
    number: u64,
}

impl Sender {
    /// Over a socket that is connected to the receiver.
    pub fn new(socket: UdpSocket, conditions: &Conditions, tag: Tag) -> Sender {
        Sender { socket, supply: Supply::of(conditions), tag, number: 0 }
    }
}

impl Shared for Sender {
    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn first(&self) -> Next {
        Next::Write
    }

    fn room(&self) -> usize {
        self.supply.size()
    }

    fn turn(&mut self, control: &Control, buffer: &mut [u8], calls: u32) -> Result<Next, TrafficError> {
        for _ in 0..calls {
            let Some((phase, length)) = self.supply.next(control) else { return Ok(Next::End) };
            self.tag.write(&mut buffer[..self.supply.size()], phase, self.number);
            match send(&self.socket, &buffer[..length], SendFlags::DONTWAIT) {
                Ok(bytes) => {
                    control.count_message(phase, bytes);
                    self.supply.took();
                    self.number += 1;
                }
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) if is_passing(error) => control.count_failed(phase),
                Err(error) => return Err(TrafficError::errno(format!("send a datagram of {length} bytes"))(error)),
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

/// The receiving end.
pub struct Receiver {
    socket: UdpSocket,
    room: usize,
    intake: Intake,
    silence: Silence,
    is_quiet: bool,
}

impl Receiver {
    /// Over a socket that is connected to the sender.
    pub fn new(socket: UdpSocket, conditions: &Conditions, tag: Tag) -> Receiver {
        let room = conditions.receive_bytes() as usize;
        let intake = Intake::of(conditions, tag);
        Receiver { socket, room, intake, silence: Silence::default(), is_quiet: false }
    }
}

impl Shared for Receiver {
    fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn first(&self) -> Next {
        Next::Read
    }

    fn room(&self) -> usize {
        self.room
    }

    fn turn(&mut self, control: &Control, buffer: &mut [u8], calls: u32) -> Result<Next, TrafficError> {
        for _ in 0..calls {
            match recv(&self.socket, &mut buffer[..self.room], RecvFlags::DONTWAIT) {
                Ok((length, _)) => self.intake.take(control, &buffer[..length]),
                Err(Errno::AGAIN) if self.is_quiet => return Ok(Next::End),
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    break;
                }
                Err(Errno::INTR | Errno::CONNREFUSED) => {}
                Err(error) => return Err(TrafficError::errno("receive a datagram")(error)),
            }
        }
        Ok(if self.intake.is_complete(control) { Next::End } else { Next::Read })
    }

    /// Once the sender has ended: when everything is there, or nothing came for a while.
    fn is_due(&mut self, control: &Control, now_ns: u64) -> bool {
        self.is_quiet = self.silence.lasts(control, self.intake.total(), now_ns);
        self.is_quiet || self.intake.is_complete(control) || control.phase() == Phase::Abort
    }

    fn outcome(&self, sent: Sent) -> Outcome {
        Outcome { sequence: self.intake.sequence(sent), ..Outcome::default() }
    }
}
