//! `tcp_rr`: requests and responses over one TCP connection, one at a time.
//!
//! Both ends make one send and one receive call per transaction, as long as request and response fit into
//! a segment, and wait in the receive call: asleep, or calling again and again (`waiting = spin`).

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::conditions::Conditions;
use rustix::io::Errno;

use crate::calls::Calls;
use crate::control::{Control, Phase};
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::Token;
use crate::options::tcp_info;
use crate::tcp_stream;
use crate::transactions::{Asker, Exchange, transaction_bytes};

struct Waiting {
    listener: TcpListener,
    address: SocketAddr,
    conditions: Conditions,
    token: Token,
}

/// Opens the server's socket.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    let (listener, address) = tcp_stream::bind(conditions, address)?;
    Ok(Box::new(Waiting { listener, address, conditions: conditions.clone(), token }))
}

/// Connects the client and exchanges tokens.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    let stream = tcp_stream::meet(conditions, peer, token, patience)?;
    stream.set_read_timeout(None).map_err(TrafficError::system("SO_RCVTIMEO"))?;
    let in_force = tcp_stream::in_force(&stream, conditions, true);
    let asker = Asker::of(conditions, transaction_bytes(conditions));
    Ok(Ready { in_force, flow: Box::new(Client { stream, exchange: Exchange::of(conditions), asker }) })
}

impl Pending for Waiting {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError> {
        let Waiting { listener, address, conditions, token } = *self;
        let stream = tcp_stream::accept_sender(&conditions, &listener, address, &token, patience)?;
        let in_force = tcp_stream::in_force(&stream, &conditions, true);
        let server = Server {
            stream,
            exchange: Exchange::of(&conditions),
            bytes: transaction_bytes(&conditions),
            delay: Duration::from_micros(conditions.receiver_delay_us.into()),
        };
        Ok(Ready { in_force, flow: Box::new(server) })
    }
}

struct Client {
    stream: TcpStream,
    exchange: Exchange,
    asker: Asker,
}

impl Flow for Client {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.stream.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Client { stream, exchange, asker } = self;
        asker.ask(control, |phase| exchange.ask(stream, phase, control))?;
        if control.phase() == Phase::Abort {
            return Ok(());
        }
        tcp_stream::end_in_good_order(stream).map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome { tcp_info: tcp_info(&self.stream), latency: self.asker.latency(), ..Outcome::default() }
    }
}

/// Answers requests until the client has ended the connection, or the run is stopped.
///
/// # Errors
/// What the calls answer.
#[inline]
pub fn answer_all(
    calls: &impl Calls,
    control: &Control,
    exchange: &mut Exchange,
    delay: Duration,
    bytes: u64,
) -> Result<(), Errno> {
    while let Some((phase, made)) = exchange.answer(calls, delay, control)? {
        control.count_transaction(phase, made, bytes);
    }
    Ok(())
}

struct Server {
    stream: TcpStream,
    exchange: Exchange,
    bytes: u64,
    delay: Duration,
}

impl Flow for Server {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.stream.try_clone()?.into())
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        answer_all(&self.stream, control, &mut self.exchange, self.delay, self.bytes)
            .map_err(TrafficError::errno("answer a request"))?;
        self.stream.shutdown(Shutdown::Write).map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome { tcp_info: tcp_info(&self.stream), ..Outcome::default() }
    }
}
