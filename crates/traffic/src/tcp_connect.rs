//! `tcp_connect`: TCP connections that are opened and closed, one after the other, without data.
//!
//! A transaction is: connect, see the server close, close. [`crate::connections`] explains the
//! token, the order of closing and the ports. Without data the server does not learn the client's
//! phase, so that each endpoint counts by its own clock; the sums over the whole run are equal.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::connections::{Acceptor, client};
use crate::control::Control;
use crate::flow::{Made, Traffic, TrafficError};
use crate::loops::receiver_delay;
use crate::tcp;
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
            delay: receiver_delay(run.conditions),
        }),
    })
}

struct Server {
    acceptor: Acceptor,
    delay: Duration,
}

impl Traffic for Server {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.acceptor.begin()?;
        while let Some(socket) = self.acceptor.accept(control)? {
            if !self.delay.is_zero() {
                control.sleep(self.delay);
            }
            drop(socket);
            control.count_transaction(control.phase(), 0, 0);
        }
        self.acceptor.end()
    }
}
