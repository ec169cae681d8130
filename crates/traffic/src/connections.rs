//! New connections again and again, for the workloads that measure them.
//!
//! The ends prove themselves to each other once, by the run's token on a first connection, which stays
//! open and idle for the whole run: its end tells the server that the client is done. The connections
//! that are measured carry no token, so that they cost what the workload costs; the server serves those
//! that come from the address that the token came from, and closes all others at once. Whoever can
//! connect from that address could disturb the count, and can do no more.
//!
//! The server closes first and the client closes when it has seen that, as with netperf's `TCP_CRR` and
//! `TCP_CC`. So the sockets in `TIME_WAIT` are the server's, which takes a new connection from the same
//! port when its timestamps or sequence numbers are later (RFC 6191), and the client does not run out of
//! ports.

use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use model::conditions::{Conditions, Waiting};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SocketFlags, acceptfrom_with, recv};
use sys::socket::{self, TCP_MAXSEG};

use crate::aside::Aside;
use crate::control::{Control, Phase};
use crate::flow::{Flow, Pending, Ready, TrafficError};
use crate::handshake::Token;
use crate::intake::QUIET;
use crate::local;
use crate::loops::receive_flags;
use crate::options;
use crate::tcp_stream;

/// A spinning server looks once in so many calls whether the client is done.
const SPINS: u32 = 1024;

/// A server that waits for its client's first connection.
struct Entrance {
    listener: TcpListener,
    address: SocketAddr,
    conditions: Conditions,
    token: Token,
    serve: fn(Acceptor, &Conditions) -> Box<dyn Flow>,
}

/// Opens the server's socket; `serve` makes the flow once the client has come.
pub fn listen(
    conditions: &Conditions,
    address: IpAddr,
    token: Token,
    serve: fn(Acceptor, &Conditions) -> Box<dyn Flow>,
) -> Result<Box<dyn Pending>, TrafficError> {
    let (listener, address) = tcp_stream::bind(conditions, address)?;
    Ok(Box::new(Entrance { listener, address, conditions: conditions.clone(), token, serve }))
}

impl Pending for Entrance {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn accept(self: Box<Self>, patience: Duration) -> Result<Ready, TrafficError> {
        let Entrance { listener, address, conditions, token, serve } = *self;
        let acceptor = Acceptor::meet(&conditions, listener, address, &token, patience)?;
        let in_force = tcp_stream::in_force(&acceptor.first, &conditions, true);
        Ok(Ready { in_force, flow: serve(acceptor, &conditions) })
    }
}

/// The client's side.
pub struct Opener {
    /// The first connection.
    pub first: TcpStream,
    peer: SocketAddr,
    target: SocketAddr,
    conditions: Conditions,
    segment: Option<i32>,
    flags: RecvFlags,
}

impl Opener {
    /// Makes the first connection and exchanges tokens.
    pub fn meet(
        conditions: &Conditions,
        peer: SocketAddr,
        token: Token,
        patience: Duration,
    ) -> Result<Opener, TrafficError> {
        Ok(Opener {
            first: tcp_stream::meet(conditions, peer, token, patience)?,
            peer,
            target: local::target(peer, conditions),
            conditions: conditions.clone(),
            segment: tcp_stream::segment_option(conditions),
            flags: receive_flags(conditions),
        })
    }

    /// Makes one more connection; nothing when the run was stopped meanwhile. Its calls come back each
    /// [`QUIET`], or at once where the run spins, so that a stop is seen.
    pub fn open(&self, control: &Control) -> Result<Option<OwnedFd>, TrafficError> {
        let socket = tcp_stream::open(&self.peer, &self.conditions)?;
        local::bind_sender(&socket, self.peer, &self.conditions)?;
        if let Some(bytes) = self.segment {
            socket::set_int(&socket, TCP_MAXSEG, bytes).map_err(TrafficError::system("TCP_MAXSEG"))?;
        }
        let waits = match self.conditions.waiting {
            Waiting::Spin => ioctl_fionbio(&socket, true),
            Waiting::Block => set_socket_timeout(&socket, Timeout::Recv, Some(QUIET))
                .and_then(|()| set_socket_timeout(&socket, Timeout::Send, Some(QUIET))),
        };
        waits.map_err(TrafficError::errno("set how long a socket waits"))?;
        loop {
            match rustix::net::connect(&socket, &self.target) {
                Ok(()) | Err(Errno::ISCONN) => return Ok(Some(socket)),
                Err(Errno::INPROGRESS | Errno::ALREADY | Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(tcp_stream::connect_error(&format!("connect to TCP {}", self.peer), error)),
            }
            if control.phase() == Phase::Abort {
                return Ok(None);
            }
        }
    }

    /// Waits until the server has closed; false when the run was stopped meanwhile.
    pub fn await_close(&self, socket: impl AsFd, control: &Control) -> Result<bool, TrafficError> {
        loop {
            match recv(&socket, &mut [0; 1][..], self.flags) {
                Ok((0, _)) => return Ok(true),
                Ok(_) => return Err(TrafficError::Peer("the server sent more than the response".into())),
                Err(Errno::AGAIN | Errno::INTR) if control.phase() == Phase::Abort => return Ok(false),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(TrafficError::errno("wait for the server to close")(error)),
            }
        }
    }

    /// Ends the first connection, and with it the run.
    pub fn end(&mut self, control: &Control) -> Result<(), TrafficError> {
        if control.phase() == Phase::Abort {
            return Ok(());
        }
        tcp_stream::end_in_good_order(&mut self.first).map_err(TrafficError::system("end the first connection"))
    }
}

/// The server's side.
pub struct Acceptor {
    /// The first connection.
    pub first: TcpStream,
    listener: TcpListener,
    peer: IpAddr,
    /// Calls that bring nothing between two looks whether the client is done.
    patience: u32,
    /// `SO_PRIORITY` that is asked for.
    priority: Option<u32>,
}

impl Acceptor {
    /// Waits for the first connection with the run's token.
    pub fn meet(
        conditions: &Conditions,
        listener: TcpListener,
        address: SocketAddr,
        token: &Token,
        patience: Duration,
    ) -> Result<Acceptor, TrafficError> {
        let first = tcp_stream::accept_sender(conditions, &listener, address, token, patience)?;
        let peer = first.peer_addr().map_err(TrafficError::system("the sender's address"))?.ip();
        let spins = conditions.waiting == Waiting::Spin;
        listener.set_nonblocking(spins).map_err(TrafficError::system("set whether accepting waits"))?;
        // Accepted connections inherit this.
        set_socket_timeout(&listener, Timeout::Recv, Some(QUIET)).map_err(TrafficError::errno("SO_RCVTIMEO"))?;
        let patience = if spins { SPINS } else { 1 };
        Ok(Acceptor { first, listener, peer, patience, priority: conditions.priority })
    }

    /// A second handle of the listening socket: shutting it down ends the wait for a connection.
    pub fn handle(&self) -> io::Result<OwnedFd> {
        Ok(self.listener.try_clone()?.into())
    }

    /// The client's next connection; nothing when the client is done or the run was stopped.
    pub fn accept(&self, control: &Control) -> Result<Option<OwnedFd>, TrafficError> {
        let mut in_vain = 0_u32;
        while control.phase() != Phase::Abort {
            match acceptfrom_with(&self.listener, SocketFlags::CLOEXEC) {
                Ok((socket, from)) => {
                    let from = from.and_then(|from| SocketAddr::try_from(from).ok());
                    if from.is_some_and(|from| from.ip() == self.peer) {
                        options::set_accepted(&socket, self.priority)?;
                        return Ok(Some(socket));
                    }
                }
                Err(Errno::AGAIN) => {
                    control.count_empty();
                    in_vain += 1;
                    if in_vain.is_multiple_of(self.patience) && self.client_is_done() {
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

    /// As [`Acceptor::accept`]. While connections are set aside it waits for those, too, and gives no connection where one
    /// of them may have its request.
    pub fn accept_beside(&self, aside: &Aside, control: &Control) -> Result<Option<Option<OwnedFd>>, TrafficError> {
        if aside.is_empty() {
            return Ok(self.accept(control)?.map(Some));
        }
        aside
            .wait([self.listener.as_fd(), self.first.as_fd()])
            .map_err(TrafficError::system("wait for a connection or a request"))?;
        control.count_wait();
        let is_waiting = sys::process::wait_readable(&self.listener, Duration::ZERO);
        if is_waiting.map_err(TrafficError::system("look for a connection"))? {
            return Ok(self.accept(control)?.map(Some));
        }
        let is_over = control.phase() == Phase::Abort || self.client_is_done();
        Ok(if is_over { None } else { Some(None) })
    }

    fn client_is_done(&self) -> bool {
        let peeked = recv(&self.first, &mut [0; 1][..], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(peeked, Err(Errno::AGAIN | Errno::INTR))
    }

    /// Tells the client that everything was served.
    pub fn end(&self) -> Result<(), TrafficError> {
        match self.first.shutdown(Shutdown::Write) {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => {
                Err(TrafficError::system("end the first connection")(error))
            }
            _ => Ok(()),
        }
    }
}
