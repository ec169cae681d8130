//! `tcp_crr`: a TCP connection for each request and its response.
//!
//! A transaction is: connect, send the request, receive the response, see the server close, close.
//! [`crate::connections`] explains the token, the order of closing and the ports. In addition to
//! these calls the client sets the run's socket options on each connection, as netperf does, and
//! two timeouts; the server's connections inherit theirs from the listening socket.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;

use crate::connections::{Acceptor, client};
use crate::control::{Control, Phase};
use crate::flow::{Made, Traffic, TrafficError};
use crate::pending_requests::{PartialRequest, PendingRequests};
use crate::tcp;
use crate::transactions::{Exchange, Handling, Request, phase_of, transaction_bytes};
use crate::workload::{Endpoints, Run};

pub const WORKLOAD: Endpoints = Endpoints::Tcp { client, server };

fn server(
    run: &Run,
    stream: TcpStream,
    listener: Option<TcpListener>,
) -> Result<Made, TrafficError> {
    let in_effect = tcp::in_effect(&stream, run.conditions, true);
    let acceptor = Acceptor::new(run.conditions, stream, listener)?;
    Ok(Made {
        in_effect,
        traffic: Box::new(Server {
            acceptor,
            exchange: Exchange::of(run.conditions),
            pending: PendingRequests::default(),
            bytes: transaction_bytes(run.conditions),
            handling: Handling::of(run.conditions),
        }),
    })
}

struct Server {
    acceptor: Acceptor,
    exchange: Exchange,
    pending: PendingRequests,
    bytes: u64,
    handling: Handling,
}

impl Server {
    /// Answers a connection's request, or keeps the connection until its request is complete. While
    /// a connection is kept, the server does not wait for the bytes of another request.
    fn serve(&mut self, socket: OwnedFd, control: &Control) {
        match self
            .exchange
            .take_soon(&socket, !self.pending.is_empty(), control)
        {
            Ok(Request::Whole(calls)) => {
                self.respond(
                    &socket,
                    phase_of(self.exchange.request()[0]),
                    calls,
                    control,
                );
            }
            Ok(Request::Partial(length, calls)) => {
                let partial = PartialRequest {
                    socket,
                    request: self.exchange.request().to_vec(),
                    length,
                    calls,
                };
                self.pending.keep(partial, control);
            }
            // The connection ended without a request; the client reports it if it was the client's.
            Ok(Request::End) | Err(_) => control.count_failed(control.phase()),
        }
    }

    fn respond(&mut self, socket: &OwnedFd, phase: Phase, received: u64, control: &Control) {
        match self.exchange.respond(socket, &mut self.handling, control) {
            Ok(Some(sent)) => control.count_transaction(phase, received + sent, self.bytes),
            Ok(None) | Err(_) => control.count_failed(control.phase()),
        }
    }
}

impl Traffic for Server {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.acceptor.begin()?;
        loop {
            while let Some(partial) = self.pending.whole(control) {
                self.respond(
                    &partial.socket,
                    phase_of(partial.request[0]),
                    partial.calls,
                    control,
                );
            }
            let Some(socket) = self.acceptor.accept_or_wait(&self.pending, control)? else {
                break;
            };
            if let Some(socket) = socket {
                self.serve(socket, control);
            }
        }
        self.acceptor.end()
    }
}
