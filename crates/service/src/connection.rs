//! One connection, from its first byte until it has an agent: a process without privileges speaks with the client, which shows the
//! link's secret, and waits for its turn.

use std::io::{self, ErrorKind, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_model::client_event::ClientEvent;
use bitcost_model::confinement::Confinement;
use bitcost_sys::netlink::Rtnl;
use bitcost_sys::process::{end, wait_readable};

use crate::front::{Channel, OPENING, SAID_BYTES_MAX, Said, StartFront, failure};
use crate::key::OwnKey;
use crate::link::{Fingerprint, LinkToken};
use crate::message::{Answer, clean_line, frame, read_frame};
use crate::places::{OF_NETWORK_MAX, PLACES_MAX};
use crate::queue::Ticket;
use crate::session;
use crate::shared::Shared;
use crate::stream::{Until, outlast_outages};

const ANSWER: Duration = Duration::from_secs(5);

const TELL: Duration = Duration::from_secs(1);

const LOOK: Duration = Duration::from_millis(100);

/// The time in which the process ends when the service has ended the channel: the client may still get an answer.
const LAST_STEPS: Duration = Duration::from_secs(4);

/// What the signature of a server's handshake is of (RFC 8446, section 4.4.3): 64 spaces, whose it is, a zero, and the hash of the
/// transcript.
const SPACES: [u8; 64] = [b' '; 64];
const OF_SERVER: &[u8] = b"TLS 1.3, server CertificateVerify\0";

/// The bytes of that hash: SHA-256 or SHA-384.
const HASH_BYTES: [usize; 2] = [32, 48];

/// Starts it by this command, which ends in its verb.
pub fn front_of(command: fn() -> Command) -> Box<StartFront> {
    Box::new(move |socket, channel| {
        // What it could print would be the words of foreign hosts.
        command()
            .stdin(socket)
            .stdout(channel)
            .stderr(Stdio::null())
            .env_clear()
            .spawn()
            .map(Some)
    })
}

/// What such a process may still do, in a line for people: one is started to see it.
pub fn confined(start: &StartFront) -> Result<String, Unavailable> {
    let report = || {
        let nothing = std::fs::File::open("/dev/null")?;
        let mut front = Front::start(start, nothing.into())?;
        match front.said(Instant::now() + OPENING)? {
            Said::Confined(what) => Ok(what),
            _ => Err(wrong("it does not say what it may still do")),
        }
    };
    report().map_err(|why| Unavailable(format!("cannot start the process for clients: {why}")))
}

/// What speaks with one client. It is gone when this is dropped.
struct Front {
    channel: Channel,
    child: Option<Child>,
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.channel.shutdown(Shutdown::Both);
        if let Some(child) = &mut self.child {
            end(child, LAST_STEPS);
        }
    }
}

impl Front {
    fn start(start: &StartFront, socket: OwnedFd) -> io::Result<Front> {
        let (channel, other) = Channel::pair()?;
        channel.set_nonblocking(true)?;
        let child = start(socket, other.into())?;
        Ok(Front { channel, child })
    }

    fn said(&mut self, until: Instant) -> io::Result<Said> {
        let text = read_frame(&mut Until(&mut self.channel, until), SAID_BYTES_MAX)?;
        match serde_json::from_slice(&text) {
            Ok(Said::Failed(why)) => Err(io::Error::other(clean_line(&why))),
            Ok(said) => Ok(said),
            Err(_) => Err(wrong("its process sent an unknown message")),
        }
    }

    /// Signs one handshake, and returns the client's first message.
    ///
    /// # Errors
    /// When there is no client, or the process does not say what it has to.
    fn open(&mut self, own: &OwnKey, until: Instant) -> io::Result<String> {
        let Said::Confined(_) = self.said(until)? else {
            return Err(wrong("its process did not give up its privileges"));
        };
        self.send(&frame(&own.public))?;
        let Said::Sign(message) = self.said(until)? else {
            return Err(wrong("no handshake reached its signature"));
        };
        if !is_handshake(&message) {
            return Err(wrong("what was to be signed is not a handshake"));
        }
        self.send(&frame(&own.pair.sign(&message).as_ref()))?;
        match self.said(until)? {
            Said::Opened(secret) => Ok(secret),
            _ => Err(wrong("a second signature was requested")),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        Until(&mut self.channel, Instant::now() + ANSWER).write_all(bytes)
    }

    fn answer(&mut self, answer: &Answer) -> io::Result<()> {
        self.send(&frame(answer))
    }

    fn refuse(mut self, shared: &Shared, peer: SocketAddr, why: String) {
        let _ = self.answer(&Answer::Refused(why.clone()));
        drop(self);
        shared.tell(peer, ClientEvent::Refused(why));
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

fn is_handshake(message: &[u8]) -> bool {
    let hash = message.strip_prefix(&SPACES);
    let hash = hash.and_then(|rest| rest.strip_prefix(OF_SERVER));
    hash.is_some_and(|hash| HASH_BYTES.contains(&hash.len()))
}

/// Serves a client that reached the socket which listens there. Its place is its own until it has the link, or this has ended.
pub fn serve(shared: &Shared, socket: Arc<TcpStream>, peer: SocketAddr, listening: SocketAddr) {
    let greeted = greet(shared, &socket);
    let has_place = shared.places.has(&socket);
    let opened = greeted.and_then(|(front, secret)| Ok((front, secret, socket.local_addr()?)));
    let (mut front, secret, local) = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let reason = match has_place {
                true => failure(&error),
                false => format!(
                    "it had not authenticated when its place was needed: at most {PLACES_MAX} connections wait for that, {OF_NETWORK_MAX} of one network"
                ),
            };
            drop(socket);
            return shared.tell(peer, ClientEvent::Failed(reason));
        }
    };
    if !is_of_link(shared, &secret) {
        let why = "the link is not the one of this service, or was cut: ask for the link that `bitcost serve` prints";
        return front.refuse(shared, peer, why.to_owned());
    }
    outlast_outages(&socket);
    // From here on the queue bounds what it may hold.
    drop(socket);
    let from = peer.ip().to_canonical();
    let entered = shared.queue.enter();
    let (ticket, device) = match entered.and_then(|ticket| Ok((ticket, device_to(peer)?))) {
        Ok(entered) => entered,
        Err(why) => return front.refuse(shared, peer, why),
    };
    let welcome = wait_for_turn(shared, &mut front, &ticket)
        .and_then(|()| front.answer(&Answer::Welcome))
        .and_then(|()| front.channel.set_nonblocking(false));
    // A client that leaves while it waits is no event.
    if welcome.is_ok() {
        let to = Confinement {
            rules: shared.rules.clone(),
            peer: from,
            local,
            listening,
            device,
        };
        session::serve(shared, peer, &to, &front.channel);
    }
}

/// Has a process without privileges speak TLS with the client, once that says something.
fn greet(shared: &Shared, socket: &TcpStream) -> io::Result<(Front, String)> {
    let until = Instant::now() + OPENING;
    if !wait_readable(socket, OPENING)? {
        return Err(ErrorKind::TimedOut.into());
    }
    if socket.peek(&mut [0])? == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let front = Front::start(shared.front, socket.try_clone()?.into());
    let mut front = front
        .map_err(|error| io::Error::other(format!("cannot start the process for it: {error}")))?;
    let secret = front.open(&shared.own, until).inspect_err(|_| {
        // So that the process waits for nothing more.
        let _ = socket.shutdown(Shutdown::Both);
    })?;
    Ok((front, secret))
}

fn is_of_link(shared: &Shared, secret: &str) -> bool {
    // Of hashes it may be seen how long they are equal.
    let hash = |token: LinkToken| Fingerprint::of(&token.0);
    LinkToken::parse(secret).is_some_and(|token| hash(token) == hash(shared.own.token))
}

/// Waits until the test has the host; the client says nothing meanwhile.
fn wait_for_turn(shared: &Shared, front: &mut Front, ticket: &Ticket) -> io::Result<()> {
    let mut told: Option<Instant> = None;
    while !shared.queue.is_next(ticket) {
        if shared.is_stopping() {
            let why = "the service is being stopped".to_owned();
            let _ = front.answer(&Answer::Refused(why));
            return Err(ErrorKind::Interrupted.into());
        }
        if told.is_none_or(|told| told.elapsed() >= TELL) {
            told = Some(Instant::now());
            front.answer(&Answer::Waiting)?;
        }
        // It has ended, or says something before its turn.
        if wait_readable(&front.channel, LOOK)? {
            return Err(ErrorKind::ConnectionAborted.into());
        }
    }
    Ok(())
}

fn device_to(peer: SocketAddr) -> Result<String, String> {
    let link = match peer {
        SocketAddr::V6(peer) => peer.scope_id(),
        SocketAddr::V4(_) => 0,
    };
    let peer = peer.ip().to_canonical();
    let route = Rtnl::open().and_then(|mut rtnl| rtnl.route(peer, link));
    let unknown = |error| format!("the route to {peer} is not known: {error}");
    Ok(route.map_err(unknown)?.device)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(whose: &str) -> Vec<u8> {
        let context = format!("TLS 1.3, {whose} CertificateVerify\0");
        [&SPACES[..], context.as_bytes(), &[7; 32]].concat()
    }

    /// What the service makes of a process that says this.
    fn opened(says: &[Said]) -> Result<String, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let own = OwnKey::of_folder(&folder.path().join("service"), false).expect("a key");
        let (channel, mut other) = Channel::pair().expect("a channel");
        channel.set_nonblocking(true).expect("a channel");
        for said in says {
            other.write_all(&frame(said)).expect("room");
        }
        other.shutdown(Shutdown::Write).expect("ended");
        let mut front = Front {
            channel,
            child: None,
        };
        let opened = front.open(&own, Instant::now() + Duration::from_secs(10));
        opened.map_err(|error| error.to_string())
    }

    #[test]
    fn a_process_that_lies_gets_one_signature_of_a_handshake_at_most() {
        let confined = || Said::Confined(String::new());
        let sign = || Said::Sign(handshake("server"));
        let hello = || Said::Opened("secret".to_owned());
        let secret = opened(&[confined(), sign(), hello()]);
        assert_eq!(secret.as_deref(), Ok("secret"));
        for message in [
            handshake("client"),
            b"a text".to_vec(),
            handshake("server")[1..].to_vec(),
            [handshake("server"), vec![7]].concat(),
        ] {
            let error = opened(&[confined(), Said::Sign(message)]).expect_err("not signed");
            assert!(error.contains("not a handshake"), "{error}");
        }
        let twice = opened(&[confined(), sign(), sign()]).expect_err("one signature");
        assert!(twice.contains("a second signature"), "{twice}");
        let early = opened(&[confined(), hello()]).expect_err("early");
        assert!(early.contains("no handshake"), "{early}");
        let unconfined = opened(&[sign(), hello()]).expect_err("privileged");
        assert!(unconfined.contains("its privileges"), "{unconfined}");
    }
}
