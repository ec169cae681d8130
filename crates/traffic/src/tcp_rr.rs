//! `tcp_rr`: requests and responses over one TCP connection, one at a time.
//!
//! Both endpoints make one send and one receive call per transaction, as long as request and
//! response fit into a segment, and wait in the receive call: blocked, or repeating it (`waiting =
//! spin`).

use std::net::{Shutdown, TcpListener, TcpStream};

use bitcost_model::record::FlowRecord;
use rustix::io::Errno;

use crate::control::{Control, Phase};
use crate::flow::{Made, Traffic, TrafficError};
use crate::tcp;
use crate::transactions::{Exchange, Handling, Requester, transaction_bytes};
use crate::workload::{Endpoints, Run};

pub const WORKLOAD: Endpoints = Endpoints::Tcp { client, server };

fn client(run: &Run, stream: TcpStream) -> Result<Made, TrafficError> {
    Ok(Made {
        in_effect: tcp::in_effect(&stream, run.conditions, true),
        traffic: Box::new(Client {
            stream,
            exchange: Exchange::of(run.conditions),
            requester: Requester::of(run.conditions, transaction_bytes(run.conditions)),
        }),
    })
}

fn server(
    run: &Run,
    stream: TcpStream,
    _listener: Option<TcpListener>,
) -> Result<Made, TrafficError> {
    Ok(Made {
        in_effect: tcp::in_effect(&stream, run.conditions, true),
        traffic: Box::new(Server {
            stream,
            exchange: Exchange::of(run.conditions),
            bytes: transaction_bytes(run.conditions),
            handling: Handling::of(run.conditions),
        }),
    })
}

struct Client {
    stream: TcpStream,
    exchange: Exchange,
    requester: Requester,
}

impl Traffic for Client {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Client {
            stream,
            exchange,
            requester,
        } = self;
        requester.ask(control, |phase| exchange.ask(stream, phase, control))?;
        if control.phase() == Phase::Abort {
            return Ok(());
        }
        tcp::close_gracefully(stream).map_err(TrafficError::system("end the connection"))
    }

    fn outcome(&self, _sent: [u64; 2]) -> FlowRecord {
        self.requester.outcome()
    }
}

struct Server {
    stream: TcpStream,
    exchange: Exchange,
    bytes: u64,
    handling: Handling,
}

impl Server {
    /// Answers requests until the client has ended the connection, or the run is stopped.
    #[inline]
    fn answer_all(&mut self, control: &Control) -> Result<(), Errno> {
        let (exchange, handling) = (&mut self.exchange, &mut self.handling);
        while let Some((phase, made)) = exchange.answer(&self.stream, handling, None, control)? {
            control.count_transaction(phase, made, self.bytes);
        }
        Ok(())
    }
}

impl Traffic for Server {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.answer_all(control)
            .map_err(TrafficError::errno("answer a request"))?;
        self.stream
            .shutdown(Shutdown::Write)
            .map_err(TrafficError::system("end the connection"))
    }
}
