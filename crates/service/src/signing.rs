//! The service's side of a connection: it starts the process that speaks with the client, signs one handshake for it, and hears
//! what the client said first.

use std::io::{self, ErrorKind};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_sys::process::end;
use rustls::SignatureScheme;

use crate::frames::{Frames, frame};
use crate::front::{Channel, OPENING, SAID_BYTES_MAX, Said};
use crate::key::OwnKey;
use crate::message::{Hello, Refused, clean_line};
use crate::stream::Stream;

/// What the signature of a server's handshake is of (RFC 8446, section 4.4.3): 64 spaces, whose it is, a zero, and the hash of the
/// transcript.
const SPACES: [u8; 64] = [b' '; 64];
const OF_SERVER: &[u8] = b"TLS 1.3, server CertificateVerify\0";

/// The bytes of that hash: SHA-256 or SHA-384.
const HASH_BYTES: [usize; 2] = [32, 48];

/// Starts what speaks TLS on a connection, with the channel to it; a process, unless it is a thread of a test.
pub type StartFront = Box<dyn Fn(OwnedFd, OwnedFd) -> io::Result<Option<Child>> + Send + Sync>;

/// The time in which the process ends when the service has ended the channel: the client may still get an answer.
const LAST_STEPS: Duration = Duration::from_secs(4);

/// Starts it by this command, which ends in its verb.
pub fn front_of(command: fn() -> Command) -> StartFront {
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

/// What speaks with one client. It is gone when this is dropped.
pub struct Front {
    pub channel: Channel,
    child: Option<Child>,
}

impl Front {
    pub fn start(start: &StartFront, socket: OwnedFd) -> io::Result<Front> {
        let (channel, other) = Channel::pair()?;
        channel.set_nonblocking(true)?;
        let child = start(socket, other.into())?;
        Ok(Front { channel, child })
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let _ = self.channel.shutdown(Shutdown::Both);
        if let Some(child) = &mut self.child {
            end(child, LAST_STEPS);
        }
    }
}

/// What such a process may still do, in a line for people: one is started to see it.
pub fn confined(start: &StartFront) -> Result<String, Unavailable> {
    let report = || {
        let nothing = std::fs::File::open("/dev/null")?;
        let mut front = Front::start(start, nothing.into())?;
        let mut frames = Frames::new(SAID_BYTES_MAX);
        match said(&mut front.channel, &mut frames, Instant::now() + OPENING)? {
            Said::Confined(what) => Ok(what),
            _ => Err(wrong("it does not say what it may still do")),
        }
    };
    report().map_err(|why| Unavailable(format!("cannot start the process for clients: {why}")))
}

/// Signs for the process at the other end of the channel, and returns the client's first message, or why it is none.
///
/// # Errors
/// When there is no client, or the process does not say what it has to; `frames` then has the rest.
pub fn open(
    own: &OwnKey,
    channel: &mut Channel,
    frames: &mut Frames,
    until: Instant,
) -> io::Result<Result<Hello, Refused>> {
    frames.allow(SAID_BYTES_MAX);
    let Said::Confined(_) = said(channel, frames, until)? else {
        return Err(wrong("its process did not give up its privileges"));
    };
    channel.send(&frame(&own.public), until)?;
    let Said::Sign(message) = said(channel, frames, until)? else {
        return Err(wrong("no handshake reached its signature"));
    };
    let signature = sign(own, &message)?;
    channel.send(&frame(&signature), until)?;
    let Said::Opened(hello) = said(channel, frames, until)? else {
        return Err(wrong("a second signature was requested"));
    };
    Ok(hello.map_err(|Refused(why)| Refused(clean_line(&why))))
}

fn said(channel: &mut Channel, frames: &mut Frames, until: Instant) -> io::Result<Said> {
    let text = channel.read_frame(frames, until)?;
    match serde_json::from_slice(&text) {
        Ok(Said::Failed(why)) => Err(io::Error::other(clean_line(&why))),
        Ok(said) => Ok(said),
        Err(_) => Err(wrong("its process sent an unknown message")),
    }
}

fn wrong(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

/// Signs a handshake of a server, and nothing else.
fn sign(own: &OwnKey, message: &[u8]) -> io::Result<Vec<u8>> {
    if !is_handshake(message) {
        return Err(wrong("what was to be signed is not a handshake"));
    }
    let signer = own
        .signing
        .choose_scheme(&[SignatureScheme::ED25519])
        .ok_or_else(|| wrong("the service's key cannot sign"))?;
    signer.sign(message).map_err(io::Error::other)
}

fn is_handshake(message: &[u8]) -> bool {
    let hash = message.strip_prefix(&SPACES);
    let hash = hash.and_then(|rest| rest.strip_prefix(OF_SERVER));
    hash.is_some_and(|hash| HASH_BYTES.contains(&hash.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn handshake(whose: &str) -> Vec<u8> {
        let context = format!("TLS 1.3, {whose} CertificateVerify\0");
        [&SPACES[..], context.as_bytes(), &[7; 32]].concat()
    }

    /// What the service makes of a process that says this.
    fn opened(says: &[Said]) -> Result<Result<Hello, Refused>, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let own = OwnKey::of_folder(&folder.path().join("service"), false).expect("a key");
        let (mut channel, mut other) = Channel::pair().expect("a channel");
        channel.set_nonblocking(true).expect("a channel");
        let until = Instant::now() + Duration::from_secs(10);
        for said in says {
            other.send(&frame(said), until).expect("room");
        }
        other.shutdown(std::net::Shutdown::Write).expect("ended");
        let opened = open(&own, &mut channel, &mut Frames::new(0), until);
        opened.map_err(|error| error.to_string())
    }

    #[test]
    fn a_process_that_lies_gets_one_signature_of_a_handshake_at_most() {
        let confined = || Said::Confined(String::new());
        let sign = || Said::Sign(handshake("server"));
        let hello = || Said::Opened(Err(Refused("none\u{1b}".to_owned())));
        let none = Refused("none\u{fffd}".to_owned());
        assert_eq!(opened(&[confined(), sign(), hello()]), Ok(Err(none)));
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
