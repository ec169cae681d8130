//! `tcp_crr`: a TCP connection for each request and its response.
//!
//! A transaction is: connect, send the request, receive the response, see the server close, close. What
//! holds for the token, for the order of closing and for ports is said in [`crate::connections`]. Beside
//! these calls the client sets the run's socket options on each connection, as netperf does, and two
//! timeouts; the server's connections inherit theirs from the listening socket.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::conditions::Conditions;

use crate::aside::{Aside, Begun};
use crate::connections::{self, Acceptor, Opener};
use crate::control::{Control, Phase};
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::Token;
use crate::tcp_stream;
use crate::transactions::{Answer, Asker, Exchange, Request, phase_of, transaction_bytes};

/// Opens the server's socket.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    connections::listen(conditions, address, token, |acceptor, conditions| {
        Box::new(Server {
            acceptor,
            exchange: Exchange::of(conditions),
            aside: Aside::default(),
            bytes: transaction_bytes(conditions),
            delay: Duration::from_micros(conditions.receiver_delay_us.into()),
        })
    })
}

/// Makes the client's first connection and exchanges tokens.
pub fn connect(
    conditions: &Conditions,
    peer: SocketAddr,
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    let opener = Opener::meet(conditions, peer, token, patience)?;
    let in_force = tcp_stream::in_force(&opener.first, conditions, true);
    let asker = Asker::of(conditions, transaction_bytes(conditions));
    Ok(Ready { in_force, flow: Box::new(Client { opener, exchange: Exchange::of(conditions), asker }) })
}

struct Client {
    opener: Opener,
    exchange: Exchange,
    asker: Asker,
}

impl Flow for Client {
    fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.opener.first.try_clone()?.into())
    }

    fn keeps_new_files(&self) -> bool {
        true
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Client { opener, exchange, asker } = self;
        asker.ask(control, |phase| {
            let Some(socket) = opener.open(control)? else { return Ok(Answer::Halted) };
            let answer = exchange.ask(&socket, phase, control)?;
            let closed = !matches!(answer, Answer::Halted) && opener.await_close(&socket, control)?;
            Ok(if closed { answer } else { Answer::Halted })
        })?;
        opener.end(control)
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome { latency: self.asker.latency(), ..Outcome::default() }
    }
}

struct Server {
    acceptor: Acceptor,
    exchange: Exchange,
    aside: Aside,
    bytes: u64,
    delay: Duration,
}

impl Server {
    /// Answers a connection's request, or sets the connection aside where that has not come. Once there is such a
    /// connection, no other is waited for either.
    fn serve(&mut self, socket: OwnedFd, control: &Control) {
        match self.exchange.take_soon(&socket, !self.aside.is_empty(), control) {
            Ok(Request::Whole(calls)) => {
                self.respond(&socket, phase_of(self.exchange.request()[0]), calls, control);
            }
            Ok(Request::Begun(length, calls)) => {
                self.aside.keep(Begun { socket, request: self.exchange.request().to_vec(), length, calls });
            }
            // A connection that ended without a request; the client notices when it was one of its own.
            Ok(Request::End) | Err(_) => control.count_failed(control.phase()),
        }
    }

    fn respond(&self, socket: &OwnedFd, phase: Phase, received: u64, control: &Control) {
        match self.exchange.respond(socket, self.delay, control) {
            Ok(Some(sent)) => control.count_transaction(phase, received + sent, self.bytes),
            Ok(None) | Err(_) => control.count_failed(control.phase()),
        }
    }
}

impl Flow for Server {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.acceptor.handle()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        loop {
            while let Some(begun) = self.aside.whole() {
                self.respond(&begun.socket, phase_of(begun.request[0]), begun.calls, control);
            }
            let Some(socket) = self.acceptor.accept_beside(&self.aside, control)? else { break };
            if let Some(socket) = socket {
                self.serve(socket, control);
            }
        }
        self.acceptor.end()
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome::default()
    }
}
