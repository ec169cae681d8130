//! The process that reads what foreign hosts send, without any privilege. A copy of it for each connection speaks TLS with the
//! client and reads its first message; the private key, the link's secret and the judgement are the service's.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcost_sys::copies::{Now, OneThread};
use bitcost_sys::passing::{receive, take_standard_input};
use bitcost_sys::privileges::{close_inherited, limit_resources};
use bitcost_sys::process::{Ignored, die_with_parent, ignore};
use bitcost_sys::seccomp::{Also, restrict};
use rustls::pki_types::SubjectPublicKeyInfoDer;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, ServerConnection, SignatureAlgorithm, SignatureScheme};
use serde::{Deserialize, Serialize};

use crate::confine::confine;
use crate::frames::{Frames, OPENING_BYTES_MAX, frame};
use crate::message::{Hello, Refused};
use crate::relay::{Queues, relay};
use crate::stream::{Secure, Stream};
use crate::tls;

pub const FRONT_VERB: &str = "serve-front";

/// The time in which a client must have said that it has the link.
pub const OPENING: Duration = Duration::from_secs(5);

/// The longest message of [`Said`], in bytes: a client's first one, or what is to be signed as a list of numbers.
pub const SAID_BYTES_MAX: usize = OPENING_BYTES_MAX + (4 << 10);

/// The socket between this process and the service.
pub type Channel = UnixStream;

/// What this process says to the service before the client's own messages begin.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// This must be signed with the service's key; the answer is the signature's bytes.
    Sign(Vec<u8>),
    /// The client said this first, or something else than a first message, and why.
    Opened(Result<Hello, Refused>),
    Failed(String),
}

pub fn failure(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => format!("it did not authenticate within {} s", OPENING.as_secs()),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            "it ended before it authenticated".to_owned()
        }
        _ => format!("it is not a client of this version of bitcost: {error}"),
    }
}

const LAST: Duration = Duration::from_secs(1);

/// The most bytes of private memory of a copy: what waits in both directions, and the library.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

/// The most descriptors of a copy: three standard ones, a connection, a channel, and one for each of its halves.
const DESCRIPTORS_MAX: u64 = 16;

/// Gives up all privileges, says so on the socket that is its standard input, and starts a copy for each connection that comes from there, until it ends.
pub fn main() -> io::Result<()> {
    let one = OneThread::of_process()?;
    // A kernel before Linux 5.9 leaves open what the service was given by what started it.
    let _ = close_inherited();
    let control = take_standard_input()?;
    ignore(Ignored::Child);
    let confined = confine(Also::Copies).map_err(|why| why.0);
    rustix::io::write(&control, &serde_json::to_vec(&confined)?)?;
    confined.map_err(io::Error::other)?;
    let own = std::process::id();
    let mut key = [0; 256];
    while let Some((length, files)) = receive(&control, &mut key)? {
        // At a limit of processes the connection ends here.
        if let Ok(Now::Copy) = one.copy() {
            drop(control);
            return alone(own, &key[..length], files);
        }
    }
    Ok(())
}

/// The copy for one connection, which starts no other one.
fn alone(original: u32, key: &[u8], [socket, channel]: [OwnedFd; 2]) -> io::Result<()> {
    die_with_parent(original)?;
    limit_resources(MEMORY_BYTES_MAX, DESCRIPTORS_MAX)?;
    // Where the kernel has no filters, the service has said so.
    let _ = restrict(Also::Nothing);
    serve(socket.into(), channel.into(), key)
}

/// Speaks TLS with a client, and passes on what it says; `key` is the public one of the service.
///
/// # Errors
/// When the service is gone.
pub fn serve(socket: TcpStream, channel: Channel, key: &[u8]) -> io::Result<()> {
    let until = Instant::now() + OPENING;
    channel.set_nonblocking(true)?;
    let channel = Arc::new(channel);
    let remote = Remote {
        public: key.to_vec(),
        channel: channel.clone(),
        until,
    };
    let (mut secure, said, rest) = match open(socket, remote, until) {
        Ok(opened) => opened,
        Err(error) => {
            let why = Said::Failed(failure(&error));
            return (&*channel).send(&frame(&why), Instant::now() + LAST);
        }
    };
    (&*channel).send(&frame(&said), until)?;
    let queues = Queues {
        inward: rest,
        ..Queues::default()
    };
    relay(&mut secure, &*channel, &*channel, &mut (), queues);
    Ok(())
}

/// The handshake and the first message, and what came after it.
fn open(socket: TcpStream, remote: Remote, until: Instant) -> io::Result<(Secure, Said, Vec<u8>)> {
    let public = remote.public.clone();
    let tls = tls::of_service(&public, Arc::new(remote))
        .and_then(ServerConnection::new)
        .map_err(io::Error::other)?;
    let mut secure = Secure::new(socket, tls)?;
    secure.handshake(until)?;
    let mut frames = Frames::new(OPENING_BYTES_MAX);
    let hello = hello(&mut secure, &mut frames, until)?;
    Ok((secure, Said::Opened(hello), frames.rest()))
}

/// The first message, or why it is none that this service serves.
fn hello(
    secure: &mut Secure,
    frames: &mut Frames,
    until: Instant,
) -> io::Result<Result<Hello, Refused>> {
    match secure.read_frame(frames, until) {
        Ok(text) => Ok(Hello::read(&text)),
        Err(error) => match error.get_ref().and_then(|inner| inner.downcast_ref()) {
            Some(long) => Ok(Err(Refused::clone(long))),
            None => Err(error),
        },
    }
}

/// The service's key, which signs at the other end of the channel.
#[derive(Clone, Debug)]
struct Remote {
    public: Vec<u8>,
    channel: Arc<Channel>,
    until: Instant,
}

impl SigningKey for Remote {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&SignatureScheme::ED25519);
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn public_key(&self) -> Option<SubjectPublicKeyInfoDer<'_>> {
        Some(self.public.as_slice().into())
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Remote {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut channel = &*self.channel;
        let said = frame(&Said::Sign(message.to_vec()));
        let mut frames = Frames::new(SAID_BYTES_MAX);
        let text = channel
            .send(&said, self.until)
            .and_then(|()| channel.read_frame(&mut frames, self.until));
        text.and_then(|text| Ok(serde_json::from_slice(&text)?))
            .map_err(|_| Error::General("the service did not sign the handshake".to_owned()))
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
