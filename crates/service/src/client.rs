//! The client's process in place of an agent at a service: it connects, has the service prove its key, shows the link's secret, waits
//! for its turn, and then carries messages between standard input and output and the agent there.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_model::firewall::to_open;
use bitcost_model::place::EndpointPlace;
use bitcost_model::protocol::{FailureCause, FromAgent};
use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::{TCP_MAXSEG, bind_to_device, set_int};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::net::{SocketAddrAny, SocketFlags, SocketType, socket_with, sockopt};
use rustls::{AlertDescription, ClientConnection};

use crate::address::HostPort;
use crate::link::Link;
use crate::message::{Answer, frame};
use crate::relay::{End, relay};
use crate::stream::{Secure, outlast_outages};
use crate::tls;

/// The longest answer of a service before the control protocol begins, in bytes.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The time for a TCP connection to each address, and then for the proof of the key.
const STEP: Duration = Duration::from_secs(5);

/// The time for which a client comes again where its connection ends at once. Connections of an address that has a test go to the
/// agent of that, which closes what shows no token; where the test failed, it waits a few seconds for data.
const AGAIN: Duration = Duration::from_secs(6);

/// The pause before that.
const PAUSE: Duration = Duration::from_millis(200);

/// The longest wait for an answer: while a client waits, a service gives one each second.
const ANSWER: Duration = Duration::from_secs(15);

/// The most bytes of a segment of a control connection.
const SEGMENT: i32 = 1000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The controller has ended it, or knows why it ended by a last message.
    Done,
    /// The connection is lost, or the service ended it.
    Lost,
}

pub(crate) enum Unreached {
    Not(String),
    /// It ended the connection.
    Closed,
    /// Nobody waits for it: the controller has ended.
    Unwanted,
}

/// Carries messages between standard input and output and an agent at the service of a link until either ends.
/// `tell` gets a line for people while the client waits. The host of the link is an address; the connection is bound as that of
/// the data, `from` this place.
pub fn carry(link: &Link, from: &EndpointPlace, tell: &mut dyn FnMut(&str)) -> io::Result<Carried> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    // The controller must know that this process lives, and this process whether the controller does.
    let mut alive = || {
        let written = output.write_all(&frame(&FromAgent::Alive));
        let mut of_input = [PollFd::new(&input, PollFlags::empty())];
        match (written, wait_ready(&mut of_input, Some(Duration::ZERO))) {
            (Ok(()), Ok(false)) => Ok(()),
            _ => Err(Unreached::Unwanted),
        }
    };
    let why = match turn(link, from, &mut alive, tell) {
        Ok(mut service) => {
            outlast_outages(&service);
            return Ok(match relay(&mut service, input, output)? {
                End::Process => Carried::Done,
                End::Peer => Carried::Lost,
            });
        }
        Err(Unreached::Unwanted) => return Ok(Carried::Done),
        Err(Unreached::Closed) => "it ended the connection before the test began: it has too many connections, was stopped, or is not a service of bitcost".to_owned(),
        Err(Unreached::Not(why)) => why,
    };
    output.write_all(&frame(&FromAgent::Failed {
        reason: why,
        cause: FailureCause::Other,
    }))?;
    Ok(Carried::Done)
}

/// Shows the link, and waits until the test has the host.
fn turn(
    link: &Link,
    from: &EndpointPlace,
    alive: &mut dyn FnMut() -> Result<(), Unreached>,
    tell: &mut dyn FnMut(&str),
) -> Result<Secure, Unreached> {
    let until = Instant::now() + AGAIN;
    let mut service = loop {
        match open(link, &frame(&link.token.letters()), from) {
            Err(Unreached::Closed) if Instant::now() < until => alive()?,
            opened => break opened?,
        }
        std::thread::sleep(PAUSE);
    };
    let mut is_told = false;
    loop {
        let said = answer(&mut service)?;
        if Answer::read(&said).map_err(Unreached::Not)? != Answer::Waiting {
            return Ok(service);
        }
        alive()?;
        if !std::mem::replace(&mut is_told, true) {
            tell(&format!(
                "waiting at {}: another test has the host",
                link.at
            ));
        }
    }
}

/// Connects, has the service prove its key, and says these bytes first.
pub(crate) fn open(link: &Link, first: &[u8], from: &EndpointPlace) -> Result<Secure, Unreached> {
    let socket = connect(&link.at, from)?;
    let mut secure = tls::of_client(link.service)
        .and_then(|config| ClientConnection::new(config, tls::no_name()))
        .map_err(io::Error::other)
        .and_then(|tls| Secure::new(socket, tls))
        .map_err(|error| Unreached::Not(error.to_string()))?;
    secure
        .handshake(Instant::now() + STEP)
        .and_then(|()| secure.send(first, Instant::now() + STEP))
        .map_err(|error| unreached(&error, "it did not prove its key in time"))?;
    Ok(secure)
}

/// The next answer of a service before the control protocol begins.
pub(crate) fn answer(service: &mut Secure) -> Result<Vec<u8>, Unreached> {
    let text = service.message(ANSWER_BYTES_MAX, Instant::now() + ANSWER);
    text.map_err(|error| unreached(&error, "it gave no answer in time"))
}

/// A connection whose segments are small in both directions: they pass where full packets vanish.
fn connect(at: &HostPort, from: &EndpointPlace) -> Result<TcpStream, Unreached> {
    let not = |why: &str, error: &dyn Display| Unreached::Not(format!("{why}: {error}"));
    let to: IpAddr = at.host.parse().map_err(|error| not("no address", &error))?;
    let peer = SocketAddr::new(to, at.port);
    let family = SocketAddrAny::from(peer).address_family();
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None);
    let socket = socket.map_err(|error| not("cannot open a socket", &error))?;
    // A kernel that refuses it sends full ones.
    let _ = set_int(&socket, TCP_MAXSEG, SEGMENT);
    let _ = sockopt::set_socket_timeout(&socket, sockopt::Timeout::Send, Some(STEP));
    if let Some(device) = &from.device {
        let why = format!("this host cannot bind to the interface `{device}`");
        bind_to_device(&socket, device).map_err(|error| not(&why, &error))?;
    }
    if let Some(own) = from.address {
        let why = format!("this host cannot bind to {own}, which must be one of its addresses");
        rustix::net::bind(&socket, &SocketAddr::new(own, 0)).map_err(|error| not(&why, &error))?;
    }
    let connected = rustix::net::connect(&socket, &peer);
    let why = match connected {
        Ok(()) => return Ok(TcpStream::from(socket)),
        Err(Errno::INPROGRESS) => format!("no answer in {} s", STEP.as_secs()),
        Err(error) => error.to_string(),
    };
    Err(Unreached::Not(format!(
        "nothing answers there: {to}: {why}; is `bitcost serve` running there, and TCP port {} open? {}; the link needs the address and the port at which NAT or a container publishes it",
        at.port,
        to_open("tcp", at.port)
    )))
}

fn unreached(error: &io::Error, late: &str) -> Unreached {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    match (error.kind(), inner) {
        (_, Some(rustls::Error::InvalidCertificate(_))) => Unreached::Not(
            "its key is not the one of the link: another service answers there, or it has a new link".to_owned(),
        ),
        (_, Some(rustls::Error::AlertReceived(AlertDescription::NoApplicationProtocol))) => {
            Unreached::Not("it is another version of bitcost: use the same on both hosts".to_owned())
        }
        (ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe, _) => {
            Unreached::Closed
        }
        (ErrorKind::TimedOut, _) => Unreached::Not(late.to_owned()),
        _ => Unreached::Not(format!(
            "it is not a service of this version of bitcost: {error}"
        )),
    }
}
