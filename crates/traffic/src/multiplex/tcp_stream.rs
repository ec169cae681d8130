//! `tcp_stream` in a thread that other flows share.

use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use bitcost_model::conditions::Conditions;
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::socket::queued_bytes;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::silence::Silence;
use crate::control::{Control, Phase};
use crate::flow::{Multiplexed, Next, Outcome, Sent, TrafficError};
use crate::loops::Supply;
use crate::options::tcp_info;
use crate::tcp::{self, DRAIN_TIMEOUT};

/// The sender.
pub struct Sender {
    stream: TcpStream,
    supply: Supply,
    unfinished: Option<Message>,
    /// True once the sending direction is shut down.
    is_ending: bool,
    /// The time by which the other host must have acknowledged more; absent until the sender ends.
    ends_by_ns: Option<u64>,
    /// Bytes that it had not acknowledged when that time was set.
    left: Option<u32>,
    is_bounded: bool,
}

/// A message that the socket took only in part.
struct Message {
    phase: Phase,
    length: usize,
    done: usize,
}

impl Sender {
    /// A sender over a connection to the receiver.
    pub fn new(stream: TcpStream, conditions: &Conditions) -> Sender {
        Sender {
            stream,
            supply: Supply::of(conditions),
            unfinished: None,
            is_ending: false,
            ends_by_ns: None,
            left: None,
            is_bounded: conditions.is_bounded(),
        }
    }

    /// Makes one call; returns the next state where another call would not make progress.
    fn send(&mut self, control: &Control, buffer: &[u8]) -> Result<Option<Next>, TrafficError> {
        let (phase, length, done) = match &self.unfinished {
            Some(message) => (message.phase, message.length, message.done),
            None => match self.supply.next(control) {
                Some((phase, length)) => (phase, length, 0),
                None => return self.end().map(Some),
            },
        };
        match send(
            &self.stream,
            &buffer[done..length],
            SendFlags::NOSIGNAL | SendFlags::DONTWAIT,
        ) {
            Ok(bytes) if bytes == length => {
                control.count_message(phase, bytes);
                self.supply.took(1);
                Ok(None)
            }
            Ok(bytes) => Ok(self.took_part(
                control,
                Message {
                    phase,
                    length,
                    done: done + bytes,
                },
                bytes,
            )),
            Err(Errno::AGAIN) => {
                control.count_empty();
                Ok(Some(Next::Write))
            }
            Err(Errno::INTR) => Ok(None),
            Err(error) => Err(TrafficError::errno(format!(
                "send a message of {length} bytes"
            ))(error)),
        }
    }

    fn took_part(&mut self, control: &Control, message: Message, bytes: usize) -> Option<Next> {
        control.count_call(message.phase, bytes);
        if message.done == bytes {
            control.count_short(message.phase);
        }
        if message.done < message.length {
            self.unfinished = Some(message);
            return Some(Next::Write);
        }
        control.count_whole(message.phase);
        self.supply.took(1);
        self.unfinished = None;
        None
    }

    /// Shuts the sending direction down.
    fn end(&mut self) -> Result<Next, TrafficError> {
        self.stream
            .shutdown(Shutdown::Write)
            .map_err(TrafficError::system("end the connection"))?;
        self.is_ending = true;
        self.begin_to_end(monotonic_ns());
        Ok(Next::Read)
    }

    fn begin_to_end(&mut self, now_ns: u64) {
        if self.ends_by_ns.is_none() {
            self.wait_on(now_ns);
        }
    }

    /// Sets the time by which more must have been acknowledged.
    fn wait_on(&mut self, now_ns: u64) {
        self.ends_by_ns = Some(now_ns + DRAIN_TIMEOUT.as_nanos() as u64);
        self.left = queued_bytes(&self.stream).ok();
    }

    /// Whether that time has passed and nothing was acknowledged meanwhile.
    fn is_late(&mut self, now_ns: u64) -> bool {
        let is_over = self
            .ends_by_ns
            .is_some_and(|ends_by_ns| now_ns >= ends_by_ns);
        if is_over && queued_bytes(&self.stream).ok() != self.left {
            self.wait_on(now_ns);
            return false;
        }
        is_over
    }

    /// Checks whether the receiver has received everything and has shut its direction down.
    fn await_end(&mut self) -> Result<Next, TrafficError> {
        match recv(&self.stream, &mut [0; 1][..], RecvFlags::DONTWAIT) {
            Ok(_) => Ok(Next::End),
            Err(Errno::AGAIN | Errno::INTR) if self.is_late(monotonic_ns()) => self.give_up(),
            Err(Errno::AGAIN | Errno::INTR) => Ok(Next::Read),
            Err(error) => Err(TrafficError::errno("end the connection")(error)),
        }
    }

    /// The next state when the receiver has not received everything in time. After a run of fixed
    /// duration, one of many flows over a lossy path may wait longer than that for its
    /// retransmission timer.
    fn give_up(&self) -> Result<Next, TrafficError> {
        if self.is_bounded {
            Err(TrafficError::Peer(tcp::not_drained()))
        } else {
            Ok(Next::CutOff)
        }
    }
}

impl Multiplexed for Sender {
    fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
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
        if self.is_ending {
            return self.await_end();
        }
        if self.ends_by_ns.is_some() && self.is_late(monotonic_ns()) {
            return self.give_up();
        }
        for _ in 0..calls {
            if let Some(next) = self.send(control, buffer)? {
                return Ok(next);
            }
        }
        Ok(Next::Write)
    }

    fn is_due(&mut self, control: &Control, now_ns: u64) -> bool {
        let is_over = control.phase() as u8 >= Phase::Over as u8;
        if is_over {
            self.begin_to_end(now_ns);
        }
        // A message that was sent in part is completed, if possible.
        let is_waiting = self.is_ending || self.unfinished.is_some();
        self.is_late(now_ns) || control.phase() == Phase::Abort || (is_over && !is_waiting)
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome {
            tcp_info: tcp_info(&self.stream),
            ..Outcome::default()
        }
    }
}

/// The receiver.
pub struct Receiver {
    stream: TcpStream,
    room: usize,
    came: u64,
    silence: Silence,
    is_cut_off: bool,
}

impl Receiver {
    /// A receiver over a connection to the sender.
    pub fn new(stream: TcpStream, conditions: &Conditions) -> Receiver {
        let room = conditions.receive_bytes() as usize;
        Receiver {
            stream,
            room,
            came: 0,
            silence: Silence::default(),
            is_cut_off: false,
        }
    }
}

impl Multiplexed for Receiver {
    fn socket(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
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
            match recv(&self.stream, &mut buffer[..self.room], RecvFlags::DONTWAIT) {
                Ok((0, _)) => {
                    self.stream
                        .shutdown(Shutdown::Write)
                        .map_err(TrafficError::system("end the connection"))?;
                    return Ok(Next::End);
                }
                Ok((length, _)) => {
                    control.count_call(control.phase(), length);
                    self.came += 1;
                    // The buffer is not full: no more data is queued.
                    if length < self.room {
                        break;
                    }
                }
                Err(Errno::AGAIN) if self.is_cut_off => return Ok(Next::End),
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    break;
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(TrafficError::errno("receive")(error)),
            }
        }
        Ok(Next::Read)
    }

    /// True when the sender has ended and the rest does not arrive.
    fn is_due(&mut self, control: &Control, now_ns: u64) -> bool {
        self.is_cut_off = self.silence.lasts(control, self.came, now_ns);
        self.is_cut_off || control.phase() == Phase::Abort
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome {
            tcp_info: tcp_info(&self.stream),
            ..Outcome::default()
        }
    }
}
