//! The connection of the two endpoints of a flow, and the facts about its socket that every flow
//! reports.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bitcost_model::conditions::Conditions;
use bitcost_model::confinement::Confinement;
use bitcost_model::protocol::Peer;
use bitcost_model::record::{FlowRecord, Role, SocketSizes};
use rustix::net::sockopt;

use crate::accept::{Accepting, BACKLOG};
use crate::control::Control;
use crate::datagrams::quiet;
use crate::firewall::to_open_here;
use crate::flow::{Flow, Made, Ready, Traffic, TrafficError};
use crate::handshake::{Came, Cookies, FlowId, Token, answer_udp, await_cookie, opening};
use crate::workload::{Endpoints, Run};
use crate::{binding, congestion, endpoints, iperf3, options, tcp, udp};

/// The socket at which this endpoint waits for the flows of one part, or of all parts of its protocol.
pub struct Listening {
    socket: Socket,
    address: SocketAddr,
    token: Token,
    only: Option<IpAddr>,
    /// Whether the flows of several parts come here: their options are those of what is accepted.
    is_shared: bool,
}

enum Socket {
    Tcp(Accepting),
    /// With the flows that were opened and nobody has taken.
    Udp(UdpSocket, Cookies, Vec<(FlowId, UdpSocket)>),
}

/// Listens for the flows of parts of one protocol, at this address, for the endpoint that opens them. A service has them at
/// its own port, for its client alone; another run at the port that it asks for, or one that the kernel chooses.
pub fn listen(
    parts: &[&Conditions],
    address: IpAddr,
    token: Token,
    service: Option<&Confinement>,
) -> Result<Listening, TrafficError> {
    let is_shared = parts.len() > 1;
    let first = parts.first().ok_or_else(no_part)?;
    let conditions = match is_shared {
        false => Conditions::clone(first),
        true => Conditions {
            workload: first.workload,
            ..Conditions::default()
        },
    };
    let is_tcp = !conditions.workload.is_datagram();
    let (socket, own) = match service {
        Some(of) if is_tcp => binding::beside(of.listening, &conditions)?,
        Some(of) => binding::listener(of.local, &conditions, None)?,
        None => {
            let place = &conditions.places.receiver;
            let own = SocketAddr::new(address, place.ports.map_or(0, |ports| ports.first));
            binding::listener(own, &conditions, Some(place))?
        }
    };
    let socket = match is_tcp {
        true => {
            let asked = format!("listen on TCP {own}");
            rustix::net::listen(&socket, BACKLOG).map_err(TrafficError::errno(asked))?;
            if let Some(of) = service {
                bitcost_sys::steer::second_takes(&socket, of.peer).map_err(
                    TrafficError::system("have the client's connections led to its test"),
                )?;
            }
            let accepting = Accepting::of(socket.into());
            Socket::Tcp(accepting.map_err(TrafficError::system("O_NONBLOCK"))?)
        }
        false => {
            // Bound alone, so that no other program has the port; the socket of each flow is bound to it, too.
            sockopt::set_socket_reuseport(&socket, true)
                .map_err(TrafficError::errno("SO_REUSEPORT"))?;
            Socket::Udp(socket.into(), Cookies::default(), Vec::new())
        }
    };
    Ok(Listening {
        socket,
        address: own,
        token,
        only: service.map(|of| of.peer),
        is_shared,
    })
}

fn no_part() -> TrafficError {
    TrafficError::Peer("a socket for no part of the run".to_owned())
}

/// One endpoint of a flow, to be made.
#[derive(Clone, Copy)]
pub struct End<'a> {
    pub id: FlowId,
    pub role: Role,
    pub conditions: &'a Conditions,
}

impl Listening {
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes the flow that the other endpoint opens, before the deadline.
    pub fn accept(&mut self, end: End, deadline: Instant) -> Result<Ready, TrafficError> {
        let patience = deadline.saturating_duration_since(Instant::now());
        let mut came = Came::default();
        let taken = self.take(end, (deadline, &mut came));
        taken.unwrap_or_else(|error| Err(self.nobody_came(patience, came, &error)))
    }

    /// As [`Listening::accept`]; the outer error is that nobody came.
    fn take(
        &mut self,
        end: End,
        (deadline, came): (Instant, &mut Came),
    ) -> io::Result<Result<Ready, TrafficError>> {
        let (token, only, is_shared) = (self.token, self.only, self.is_shared);
        Ok(match &mut self.socket {
            Socket::Tcp(accepting) => {
                let stream = accepting.take((&token, end.id), only, (deadline, came))?;
                let adopted = adopt(&stream, end, (is_shared, only.is_some()));
                adopted.and_then(|()| {
                    of_tcp(
                        (end, Peer::Bitcost),
                        &token,
                        stream,
                        Some(&accepting.listener),
                    )
                })
            }
            Socket::Udp(listener, cookies, opened) => loop {
                if let Some(at) = opened.iter().position(|(id, _)| *id == end.id) {
                    let (_, socket) = opened.swap_remove(at);
                    return Ok(of_udp((end, Peer::Bitcost, false), &token, socket));
                }
                let (id, peer) = await_cookie(listener, (&token, cookies), only, (deadline, came))?;
                let is_open = opened.iter().any(|(other, _)| *other == id);
                // The flows of a part come in any order, those of the next part later.
                if is_open || id.part != end.id.part || id.flow >= end.conditions.flows as u16 {
                    continue;
                }
                match binding::again(self.address, end.conditions, end.role) {
                    Ok(socket) => {
                        let socket = UdpSocket::from(socket);
                        answer_udp(&socket, peer, (id, &token), deadline)?;
                        opened.push((id, socket));
                    }
                    Err(error) => break Err(error),
                }
            },
        })
    }

    /// The error of an endpoint to which no other has shown the run's token, by what came to it instead.
    fn nobody_came(&self, patience: Duration, came: Came, error: &io::Error) -> TrafficError {
        let protocol = match self.socket {
            Socket::Tcp(_) => "tcp",
            Socket::Udp(..) => "udp",
        };
        let (host, port) = (self.address.ip(), self.address.port());
        let name = protocol.to_uppercase();
        let within = format!("to {name} port {port} of {host} within {patience:.0?}");
        let is_late = error.kind() == io::ErrorKind::TimedOut;
        let reason = match self.only {
            _ if is_late && !came.from_peer && !came.from_others => {
                let (from, kept) = match self.only {
                    Some(only) => (format!(" from {only}"), String::new()),
                    None => (String::new(), format!("keep the port with `-p {port}`; ")),
                };
                let to_open = to_open_here(protocol, port);
                format!("nothing of the other endpoint came{from} {within}: {kept}{to_open}")
            }
            Some(only) if !came.from_peer => format!(
                "data are taken only from the address from which the client authenticated, {only}: nothing from there came {within}, but from others"
            ),
            _ => format!("nobody who came {within} showed the run's token: {error}"),
        };
        TrafficError::Unreached(reason)
    }
}

/// What a connection takes over from its listening socket is that of its part where the socket is shared; a service's own is
/// bound to no interface.
fn adopt(
    stream: &TcpStream,
    end: End,
    (is_shared, is_of_service): (bool, bool),
) -> Result<(), TrafficError> {
    if is_shared {
        options::set(stream, end.conditions, true)?;
    }
    if is_of_service {
        binding::to_device(stream, end.conditions.places.end(end.role))?;
    }
    congestion::ask(stream, end.conditions)
}

/// Opens a flow at the other endpoint and sends the run's token, or to an iperf3 server its cookie. Over UDP the other answers
/// before this returns; over TCP it sends nothing back.
pub fn connect(
    end: End,
    (other, peer): (Peer, SocketAddr),
    token: Token,
    patience: Duration,
) -> Result<Ready, TrafficError> {
    // The address and ports of this host are those of its role; the ports are those of the end that connects.
    let turned = (end.role == Role::Receiver).then(|| Conditions {
        places: end.conditions.places.turned(),
        ..end.conditions.clone()
    });
    let conditions = turned.as_ref().unwrap_or(end.conditions);
    let (opening, cookie) = (opening(end.id, &token), iperf3::cookie(&token));
    if end.conditions.workload.is_datagram() {
        let socket = match other {
            Peer::Bitcost => udp::connect(conditions, peer, &opening, patience)?,
            Peer::Iperf3 => udp::join_iperf3(conditions, peer, patience)?,
        };
        return of_udp((end, other, false), &token, socket);
    }
    let first = match other {
        Peer::Bitcost => &opening[..],
        Peer::Iperf3 => &cookie,
    };
    let stream = tcp::connect(conditions, peer, first, patience)?;
    of_tcp((end, other), &token, stream, None)
}

/// The endpoint of a flow of an iperf3 client, over the socket that there is. Its datagrams may have numbers of 64 bits.
pub fn of_iperf3(end: End, socket: OwnedFd, is_wide: bool) -> Result<Ready, TrafficError> {
    let token = Token::default();
    if !end.conditions.workload.is_datagram() {
        return of_tcp((end, Peer::Iperf3), &token, socket.into(), None);
    }
    of_udp((end, Peer::Iperf3, is_wide), &token, socket.into())
}

fn of_tcp(
    (end, peer): (End, Peer),
    token: &Token,
    stream: TcpStream,
    listener: Option<&TcpListener>,
) -> Result<Ready, TrafficError> {
    let conditions = end.conditions;
    let Endpoints::Tcp { client, server } = endpoints(conditions.workload) else {
        return Err(no_part());
    };
    let run = Run {
        conditions,
        token,
        peer,
        is_wide: false,
    };
    let accepts = conditions.workload.makes_connections() && end.role == Role::Receiver;
    let listener = listener.filter(|_| accepts).map(TcpListener::try_clone);
    let listener = listener.transpose();
    let listener = listener.map_err(TrafficError::system("duplicate the socket"))?;
    // Shutting it down ends the wait for a connection.
    let socket = match &listener {
        Some(listener) => second(listener)?,
        None => second(&stream)?,
    };
    let made = match end.role {
        Role::Sender => client(&run, stream)?,
        Role::Receiver => server(&run, stream, listener)?,
    };
    Ok(ready(socket, made, conditions, end.role))
}

fn of_udp(
    (end, peer, is_wide): (End, Peer, bool),
    token: &Token,
    socket: UdpSocket,
) -> Result<Ready, TrafficError> {
    let conditions = end.conditions;
    let Endpoints::Udp { client, server } = endpoints(conditions.workload) else {
        return Err(no_part());
    };
    let run = Run {
        conditions,
        token,
        peer,
        is_wide,
    };
    socket
        .set_read_timeout(Some(quiet(conditions)))
        .map_err(TrafficError::system("SO_RCVTIMEO"))?;
    let handle = second(&socket)?;
    let made = match end.role {
        Role::Sender => client(&run, socket)?,
        Role::Receiver => server(&run, socket)?,
    };
    Ok(ready(handle, made, conditions, end.role))
}

fn second(socket: impl AsFd) -> Result<OwnedFd, TrafficError> {
    let second = socket.as_fd().try_clone_to_owned();
    second.map_err(TrafficError::system("duplicate the socket"))
}

/// Adds the local side of the socket, and its sizes before and after the traffic.
fn ready(socket: OwnedFd, made: Made, conditions: &Conditions, role: Role) -> Ready {
    let mut in_effect = made.in_effect;
    in_effect.extend(binding::in_effect(&socket, conditions, role));
    Ready {
        in_effect,
        flow: Box::new(Established {
            traffic: made.traffic,
            is_connection: conditions.workload.keeps_connection(),
            at_start: options::sizes(&socket),
            socket,
        }),
    }
}

/// A flow that reports the facts of its socket.
struct Established {
    traffic: Box<dyn Traffic>,
    socket: OwnedFd,
    is_connection: bool,
    at_start: SocketSizes,
}

impl Flow for Established {
    fn handle(&self) -> io::Result<OwnedFd> {
        self.socket.try_clone()
    }
}

impl Traffic for Established {
    fn run(&mut self, control: &Control) -> Result<(), TrafficError> {
        self.traffic.run(control)
    }

    fn keeps_new_files(&self) -> bool {
        self.traffic.keeps_new_files()
    }

    fn outcome(&self, sent: [u64; 2]) -> FlowRecord {
        let connection = self.is_connection.then_some(&self.socket);
        FlowRecord {
            tcp_info: connection.and_then(options::tcp_info),
            at_start: self.at_start,
            at_end: options::sizes(&self.socket),
            ..self.traffic.outcome(sent)
        }
    }
}
