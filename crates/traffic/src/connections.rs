//! `tcp_crr`, a TCP connection for each request and its response, and `tcp_connect`, TCP connections without data, one
//! after the other.
//!
//! A transaction is: connect, send the request and receive the response where there are some, see the server close, close.
//! In addition to these calls the client sets the run's socket options on each connection, as netperf does, and two
//! timeouts; the server's connections inherit theirs from the listening socket. Without data the server does not learn
//! the client's phase, so that each endpoint counts by its own clock; the sums over the whole run are equal.
//!
//! The endpoints authenticate once, by the run's token on a first connection, which stays open and
//! idle for the whole run: the end of this connection informs the server that the client is done.
//! The measured connections carry no token, so that they have only the cost of the workload; the
//! server serves those from the client's address, and closes all others at once. Another program at
//! that address could only disturb the count, or hold a server up for [`REQUEST_PATIENCE`].
//!
//! The server closes first and the client closes when it has seen that, as with netperf's `TCP_CRR`
//! and `TCP_CC`. The sockets in `TIME_WAIT` are thus on the server, which accepts a new connection
//! from the same port when its timestamps or sequence numbers are later (RFC 6191), and the client
//! does not run out of ports.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bitcost_model::conditions::{Conditions, Waiting};
use bitcost_model::record::FlowRecord;
use bitcost_sys::socket::{self, TCP_MAXSEG};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SocketFlags, acceptfrom_with, recv};

use crate::control::{Control, Phase};
use crate::datagrams::QUIET;
use crate::flow::{Made, Traffic, TrafficError};
use crate::loops::receive_flags;
use crate::tcp;
use crate::transactions::{Answer, Exchange, Handling, Requester, transaction_bytes};
use crate::workload::{Endpoints, Run};
use crate::{binding, congestion};

/// A connection that is not made by then has failed: longer than until TCP asks a second time.
const PATIENCE: Duration = Duration::from_secs(2);

/// A connection that has brought no whole request by then is closed: longer than until TCP sends it a third time.
const REQUEST_PATIENCE: Duration = Duration::from_secs(1);

/// A spinning server checks once in this number of calls whether the client is done.
const SPINS: u32 = 1024;

pub const WORKLOAD: Endpoints = Endpoints::Tcp { client, server };

fn client(run: &Run, first: TcpStream) -> Result<Made, TrafficError> {
    let peer = first
        .peer_addr()
        .map_err(TrafficError::system("its address"))?;
    let conditions = run.conditions;
    let carries = conditions.workload.has_requests();
    let bytes = if carries {
        transaction_bytes(conditions)
    } else {
        0
    };
    Ok(Made {
        in_effect: tcp::in_effect(&first, conditions, true),
        traffic: Box::new(Client {
            connector: Connector::new(conditions, first, peer),
            exchange: carries.then(|| Exchange::of(conditions)),
            requester: Requester::of(conditions, bytes),
        }),
    })
}

struct Client {
    connector: Connector,
    exchange: Option<Exchange>,
    requester: Requester,
}

impl Traffic for Client {
    fn keeps_new_files(&self) -> bool {
        true
    }

    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let Client {
            connector,
            exchange,
            requester,
        } = self;
        requester.ask(control, |phase| {
            let made = connector.transact(exchange.as_mut(), phase, control);
            match made {
                // As long as the first connection stands, it is this one alone that failed.
                Err(error) if error.ends_connection() && !has_ended(&connector.first) => {
                    Ok(Answer::Lost)
                }
                made => made,
            }
        })?;
        connector.end(control)
    }

    fn outcome(&self, _sent: [u64; 2]) -> FlowRecord {
        self.requester.outcome()
    }
}

struct Connector {
    first: TcpStream,
    peer: SocketAddr,
    conditions: Conditions,
    segment: Option<i32>,
    flags: RecvFlags,
}

impl Connector {
    /// The state of a client whose first connection has been made.
    fn new(conditions: &Conditions, first: TcpStream, peer: SocketAddr) -> Connector {
        Connector {
            first,
            peer,
            conditions: conditions.clone(),
            segment: tcp::segment_option(conditions),
            flags: receive_flags(conditions),
        }
    }

    /// Makes one more connection, with a request and its response where there are some.
    fn transact(
        &self,
        exchange: Option<&mut Exchange>,
        phase: Phase,
        control: &Control,
    ) -> Result<Answer, TrafficError> {
        let Some(socket) = self.open(control)? else {
            return Ok(Answer::Halted);
        };
        let answer = match exchange {
            Some(exchange) => exchange.ask(&socket, phase, control)?,
            None => Answer::Came { calls: 0 },
        };
        let closed = !matches!(answer, Answer::Halted) && self.await_close(&socket, control)?;
        Ok(if closed { answer } else { Answer::Halted })
    }

    /// Makes one more connection; absent when the run was stopped meanwhile. Its calls return after
    /// [`QUIET`] at the latest, or at once where the run spins, so that a stop is noticed.
    fn open(&self, control: &Control) -> Result<Option<OwnedFd>, TrafficError> {
        let socket = binding::sender(self.peer, &self.conditions)?;
        if let Some(bytes) = self.segment {
            socket::set_int(&socket, TCP_MAXSEG, bytes)
                .map_err(TrafficError::system("TCP_MAXSEG"))?;
        }
        let waits = match self.conditions.waiting {
            Waiting::Spin => ioctl_fionbio(&socket, true),
            Waiting::Block => set_socket_timeout(&socket, Timeout::Recv, Some(QUIET))
                .and_then(|()| set_socket_timeout(&socket, Timeout::Send, Some(QUIET))),
        };
        waits.map_err(TrafficError::errno("set how long a socket waits"))?;
        let mut since = None;
        let failed = loop {
            match rustix::net::connect(&socket, &self.peer) {
                Ok(()) | Err(Errno::ISCONN) => {
                    congestion::ask(&socket, &self.conditions)?;
                    return Ok(Some(socket));
                }
                Err(Errno::INPROGRESS | Errno::ALREADY | Errno::AGAIN | Errno::INTR) => {}
                Err(error) => break error,
            }
            if control.phase() == Phase::Abort {
                return Ok(None);
            }
            if since.get_or_insert_with(Instant::now).elapsed() >= PATIENCE {
                break Errno::TIMEDOUT;
            }
        };
        let asked = format!("connect to TCP {}", self.peer);
        Err(tcp::connect_error(&asked, failed))
    }

    /// Waits until the server has closed; false when the run was stopped meanwhile.
    fn await_close(&self, socket: impl AsFd, control: &Control) -> Result<bool, TrafficError> {
        loop {
            match recv(&socket, &mut [0; 1][..], self.flags) {
                Ok((0, _)) => return Ok(true),
                Ok(_) => {
                    return Err(TrafficError::Peer(
                        "the server sent more than the response".into(),
                    ));
                }
                Err(Errno::AGAIN | Errno::INTR) if control.phase() == Phase::Abort => {
                    return Ok(false);
                }
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => {
                    return Err(TrafficError::errno("wait for the server to close")(error));
                }
            }
        }
    }

    fn end(&mut self, control: &Control) -> Result<(), TrafficError> {
        if control.phase() == Phase::Abort {
            return Ok(());
        }
        tcp::close_gracefully(&mut self.first)
            .map_err(TrafficError::system("end the first connection"))
    }
}

/// Whether the other end of a connection that carries no data has ended it.
fn has_ended(first: &TcpStream) -> bool {
    let peeked = recv(
        first,
        &mut [0; 1][..],
        RecvFlags::PEEK | RecvFlags::DONTWAIT,
    );
    !matches!(peeked, Err(Errno::AGAIN | Errno::INTR))
}

fn server(
    run: &Run,
    first: TcpStream,
    listener: Option<TcpListener>,
) -> Result<Made, TrafficError> {
    let conditions = run.conditions;
    let listener = listener.ok_or_else(|| {
        TrafficError::Peer(
            "connections of a run are opened by its sender alone, so the receiver must be the one that listens"
                .to_owned(),
        )
    })?;
    let peer = first
        .peer_addr()
        .map_err(TrafficError::system("the sender's address"))?;
    // Accepted connections inherit these timeouts.
    set_socket_timeout(&listener, Timeout::Recv, Some(QUIET))
        .and_then(|()| set_socket_timeout(&listener, Timeout::Send, Some(QUIET)))
        .map_err(TrafficError::errno("set how long a socket waits"))?;
    let carries = conditions.workload.has_requests();
    Ok(Made {
        in_effect: tcp::in_effect(&first, conditions, true),
        traffic: Box::new(Server {
            first,
            conditions: conditions.clone(),
            listener,
            peer: peer.ip().to_canonical(),
            exchange: carries.then(|| Exchange::of(conditions)),
            handling: Handling::of(conditions),
        }),
    })
}

struct Server {
    first: TcpStream,
    conditions: Conditions,
    listener: TcpListener,
    peer: IpAddr,
    exchange: Option<Exchange>,
    handling: Handling,
}

impl Server {
    /// The client's next connection; absent when the client is done or the run was stopped.
    fn accept(&self, spins: bool, control: &Control) -> Result<Option<OwnedFd>, TrafficError> {
        let patience = if spins { SPINS } else { 1 };
        let mut empty_calls = 0_u32;
        while control.phase() != Phase::Abort {
            match acceptfrom_with(&self.listener, SocketFlags::CLOEXEC) {
                Ok((socket, from)) => {
                    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                    if from.is_some_and(|from| from.ip().to_canonical() == self.peer) {
                        congestion::ask(&socket, &self.conditions)?;
                        return Ok(Some(socket));
                    }
                }
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    empty_calls += 1;
                    if empty_calls.is_multiple_of(patience) && has_ended(&self.first) {
                        return Ok(None);
                    }
                }
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(_) if control.phase() == Phase::Abort => return Ok(None),
                Err(error) => return Err(TrafficError::errno("accept a connection")(error)),
            }
        }
        Ok(None)
    }

    /// Answers a connection's request, or only handles a connection that carries none.
    fn serve(&mut self, socket: &OwnedFd, control: &Control) {
        let Some(exchange) = &mut self.exchange else {
            self.handling.handle(control);
            return control.count_transaction(control.phase(), 0, 0);
        };
        let patience = Some(REQUEST_PATIENCE);
        match exchange.answer(socket, &mut self.handling, patience, control) {
            Ok(Some((phase, calls))) => {
                control.count_transaction(phase, calls, transaction_bytes(&self.conditions));
            }
            // It ended, or brought no request in time; the client reports it if it was the client's.
            Ok(None) | Err(_) => control.count_failed(control.phase()),
        }
    }
}

impl Traffic for Server {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        let spins = self.conditions.waiting == Waiting::Spin;
        // No first connection is awaited at the listening socket any more.
        self.listener
            .set_nonblocking(spins)
            .map_err(TrafficError::system("set whether accepting waits"))?;
        while let Some(socket) = self.accept(spins, control)? {
            self.serve(&socket, control);
        }
        // Informs the client that every connection was served.
        match self.first.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => {
                Err(TrafficError::system("end the first connection")(error))
            }
            _ => Ok(()),
        }
    }
}
