//! `udp_rr`: requests and responses over UDP, one at a time.
//!
//! A request without a response within the timeout is counted as lost and the next one is sent. A
//! response repeats the number of its request, so that a late response is not taken for that of a
//! later request: the header of datagrams where request and response both have 8 bytes or more. In
//! smaller ones the first byte carries a number from 0 to 63 and the phase: a response is mistaken
//! only when it is exactly 64, 128, … requests late. Bytes of the run's token are in the header,
//! and after the first byte of smaller ones as far as both are long enough.

use std::net::{SocketAddr, UdpSocket};
use std::time::Instant;

use bitcost_model::conditions::{Conditions, REQUEST_TIMEOUT};
use bitcost_model::record::FlowRecord;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::control::{Control, Phase};
use crate::flow::{Made, Traffic, TrafficError};
use crate::handshake::Token;
use crate::loops::{is_transient, note_failed, receive_flags};
use crate::options;
use crate::sequence::{HEADER_BYTES, Tag};
use crate::syscalls::receive;
use crate::transactions::{Answer, Handling, Requester, mark, phase_of, transaction_bytes};
use crate::workload::{Endpoints, Run};

/// A spinning client reads the clock once in this number of calls without data.
const SPINS: u32 = 256;

/// Numbers that fit into the first byte together with the phase. Its upper bit is 0, other than in
/// a datagram that carries a token.
const SHORT_NUMBERS: u64 = 64;

#[derive(Clone, Copy, Debug)]
enum Numbering {
    Long(Tag),
    /// In the first byte, which this number of bytes of the token follows.
    Short(Tag, usize),
}

impl Numbering {
    fn of(conditions: &Conditions, token: &Token) -> Numbering {
        let (room, tag) = (
            conditions
                .request_size_bytes
                .min(conditions.response_size_bytes) as usize,
            Tag::of(token),
        );
        if room >= HEADER_BYTES {
            Numbering::Long(tag)
        } else {
            Numbering::Short(tag, room.saturating_sub(1))
        }
    }

    fn bytes(self) -> usize {
        match self {
            Numbering::Long(_) => HEADER_BYTES,
            Numbering::Short(_, more) => 1 + more,
        }
    }

    fn write(self, request: &mut [u8], phase: Phase, number: u64) {
        match self {
            Numbering::Long(tag) => {
                request[..HEADER_BYTES].copy_from_slice(&tag.header(phase, number))
            }
            Numbering::Short(tag, more) => {
                request[0] = mark(phase) | ((number % SHORT_NUMBERS) as u8) << 1;
                request[1..=more].copy_from_slice(tag.short(more));
            }
        }
    }

    /// The phase and the number of a request; absent for another datagram.
    fn read(self, request: &[u8]) -> Option<(Phase, u64)> {
        match self {
            Numbering::Long(tag) => tag.parse(request),
            Numbering::Short(tag, more) => {
                let first = *request.first().filter(|first| **first < 0x80)?;
                (request.get(1..=more)? == tag.short(more))
                    .then(|| (phase_of(first), u64::from(first >> 1)))
            }
        }
    }

    /// False for a duplicate request, as far as its number shows.
    fn is_new(self, number: u64, last: Option<u64>) -> bool {
        match self {
            Numbering::Long(_) => last.is_none_or(|last| number > last),
            Numbering::Short(..) => last != Some(number),
        }
    }
}

pub const WORKLOAD: Endpoints = Endpoints::Udp { client, server };

fn client(run: &Run, socket: UdpSocket) -> Result<Made, TrafficError> {
    let peer = socket
        .peer_addr()
        .map_err(TrafficError::system("its address"))?;
    socket
        .set_read_timeout(Some(REQUEST_TIMEOUT))
        .map_err(TrafficError::system("SO_RCVTIMEO"))?;
    let in_effect = options::in_effect(&socket, run.conditions, false);
    let response_bytes = run.conditions.response_size_bytes as usize;
    let client = Client {
        socket,
        peer,
        request: vec![0x5A; run.conditions.request_size_bytes as usize],
        // One more byte shows a datagram that is too long.
        response: vec![0; response_bytes + 1],
        numbering: Numbering::of(run.conditions, run.token),
        number: 0,
        flags: receive_flags(run.conditions),
    };
    let requester = Requester::of(run.conditions, transaction_bytes(run.conditions));
    Ok(Made {
        in_effect,
        traffic: Box::new(Asking { client, requester }),
    })
}

fn server(run: &Run, socket: UdpSocket) -> Result<Made, TrafficError> {
    Ok(Made {
        in_effect: options::in_effect(&socket, run.conditions, false),
        traffic: Box::new(Server {
            socket,
            request: vec![0; run.conditions.request_size_bytes as usize + 1],
            response: vec![0x5A; run.conditions.response_size_bytes as usize],
            numbering: Numbering::of(run.conditions, run.token),
            last: None,
            flags: receive_flags(run.conditions),
            handling: Handling::of(run.conditions),
            bytes: transaction_bytes(run.conditions),
        }),
    })
}

struct Client {
    socket: UdpSocket,
    peer: SocketAddr,
    request: Vec<u8>,
    response: Vec<u8>,
    numbering: Numbering,
    number: u64,
    flags: RecvFlags,
}

impl Client {
    fn transact(&mut self, phase: Phase, control: &Control) -> Result<Answer, TrafficError> {
        self.numbering.write(&mut self.request, phase, self.number);
        self.number += 1;
        if !self.send_request(phase, control)? {
            return Ok(Answer::Halted);
        }
        let mut since = None;
        let mut empty_calls = 0_u32;
        loop {
            match receive(&self.socket, &mut self.response, self.flags) {
                Ok(length) if self.is_answer(length) => return Ok(Answer::Came { calls: 2 }),
                Ok(length) => control.count_stray(length),
                Err(Errno::AGAIN) if self.flags.is_empty() => return Ok(Answer::Lost),
                Err(error @ (Errno::AGAIN | Errno::INTR)) => {
                    if error == Errno::AGAIN {
                        control.count_empty();
                    }
                    empty_calls += 1;
                    if !empty_calls.is_multiple_of(SPINS) {
                        continue;
                    }
                }
                Err(Errno::CONNREFUSED) => return Err(self.gone()),
                // An earlier datagram did not arrive; this request is lost unless it is answered in time.
                Err(error) if is_transient(error) => {}
                Err(error) => return Err(TrafficError::errno("receive a response")(error)),
            }
            if control.phase() == Phase::Abort {
                return Ok(Answer::Halted);
            }
            if since.get_or_insert_with(Instant::now).elapsed() >= REQUEST_TIMEOUT {
                return Ok(Answer::Lost);
            }
        }
    }

    /// True when the request was sent, false when the run was stopped meanwhile.
    fn send_request(&self, phase: Phase, control: &Control) -> Result<bool, TrafficError> {
        while control.phase() != Phase::Abort {
            match rustix::net::send(&self.socket, &self.request, SendFlags::empty()) {
                Ok(_) => return Ok(true),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::CONNREFUSED) => return Err(self.gone()),
                Err(error) if is_transient(error) => note_failed(control, phase, error),
                Err(error) => return Err(TrafficError::errno("send a request")(error)),
            }
        }
        Ok(false)
    }

    /// True for the response to the present request; false for a late response, and for another
    /// datagram.
    #[inline]
    fn is_answer(&self, length: usize) -> bool {
        let numbered = self.numbering.bytes();
        length + 1 == self.response.len() && self.response[..numbered] == self.request[..numbered]
    }

    fn gone(&self) -> TrafficError {
        TrafficError::Peer(format!(
            "the server at {} is gone: its host says that the port is closed",
            self.peer
        ))
    }
}

struct Asking {
    client: Client,
    requester: Requester,
}

impl Traffic for Asking {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Asking { client, requester } = self;
        requester.ask(control, |phase| client.transact(phase, control))
    }

    fn outcome(&self, _sent: [u64; 2]) -> FlowRecord {
        self.requester.outcome()
    }
}

struct Server {
    socket: UdpSocket,
    request: Vec<u8>,
    response: Vec<u8>,
    numbering: Numbering,
    last: Option<u64>,
    flags: RecvFlags,
    handling: Handling,
    bytes: u64,
}

impl Server {
    /// Answers a request and counts it; a duplicate is ignored.
    #[inline]
    fn answer(&mut self, length: usize, control: &Control) -> Result<(), Errno> {
        let read = match length + 1 == self.request.len() {
            true => self.numbering.read(&self.request),
            false => None,
        };
        let is_new = |(_, number): &(Phase, u64)| self.numbering.is_new(*number, self.last);
        let Some((phase, number)) = read.filter(is_new) else {
            control.count_stray(length);
            return Ok(());
        };
        self.last = Some(number);
        self.handling.handle(control);
        let numbered = self.numbering.bytes();
        self.response[..numbered].copy_from_slice(&self.request[..numbered]);
        match rustix::net::send(&self.socket, &self.response, SendFlags::empty()) {
            Ok(_) => control.count_transaction(phase, 2, self.bytes),
            Err(error) if error == Errno::INTR || is_transient(error) => {
                note_failed(control, phase, error);
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl Traffic for Server {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        while control.phase() != Phase::Abort {
            match receive(&self.socket, &mut self.request, self.flags) {
                Ok(length) => self
                    .answer(length, control)
                    .map_err(TrafficError::errno("send a response"))?,
                // The client has ended once its count is known.
                Err(Errno::AGAIN) if control.expected_messages().is_some() => return Ok(()),
                Err(Errno::AGAIN) => control.count_empty(),
                Err(error) if error == Errno::INTR || is_transient(error) => {}
                Err(error) => return Err(TrafficError::errno("receive a request")(error)),
            }
        }
        Ok(())
    }
}
