//! `tcp_connect`: TCP connections that are made and ended, one after the other, without data.
//!
//! A transaction is: connect, see the server close, close. What holds for the token, for the order of
//! closing and for ports is said in [`crate::connections`]. Without data nothing tells the server the
//! client's phase, so that each end counts by its own clock; the sums over the whole run are equal.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::conditions::Conditions;

use crate::connections::{self, Acceptor, Opener};
use crate::control::Control;
use crate::flow::{Flow, Outcome, Pending, Ready, Sent, TrafficError};
use crate::handshake::Token;
use crate::tcp_stream;
use crate::transactions::{Answer, Asker};

/// Opens the server's socket.
pub fn listen(conditions: &Conditions, address: IpAddr, token: Token) -> Result<Box<dyn Pending>, TrafficError> {
    connections::listen(conditions, address, token, |acceptor, conditions| {
        let delay = Duration::from_micros(conditions.receiver_delay_us.into());
        Box::new(Server { acceptor, delay })
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
    Ok(Ready { in_force, flow: Box::new(Client { opener, asker: Asker::of(conditions, 0) }) })
}

struct Client {
    opener: Opener,
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
        let Client { opener, asker } = self;
        asker.ask(control, |_| {
            let Some(socket) = opener.open(control)? else { return Ok(Answer::Halted) };
            let closed = opener.await_close(&socket, control)?;
            Ok(if closed { Answer::Came { calls: 0 } } else { Answer::Halted })
        })?;
        opener.end(control)
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome { latency: self.asker.latency(), ..Outcome::default() }
    }
}

struct Server {
    acceptor: Acceptor,
    delay: Duration,
}

impl Flow for Server {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.acceptor.handle()
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        while let Some(socket) = self.acceptor.accept(control)? {
            if !self.delay.is_zero() {
                control.sleep(self.delay);
            }
            drop(socket);
            control.count_transaction(control.phase(), 0, 0);
        }
        self.acceptor.end()
    }

    fn outcome(&self, _sent: Sent) -> Outcome {
        Outcome::default()
    }
}
