//! The process that reads what foreign hosts send, without any privilege. One for each connection speaks TLS with the client and
//! reads its first message; the private key, the link's secret and the judgement are the service's.

use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcost_sys::privileges::{close_inherited, limit_resources};
use bitcost_sys::seccomp::Also;
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

/// What this process says to the service before the client's own messages begin, in this order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// What it may still do; the answer is the service's public key.
    Confined(String),
    /// This must be signed with the service's key; the answer is the signature's bytes.
    Sign(Vec<u8>),
    /// The client said this first, or something else than a first message, and why.
    Opened(Result<Hello, Refused>),
    /// Instead of one of these.
    Failed(String),
}

pub fn failure(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::TimedOut => format!("it did not authenticate within {} s", OPENING.as_secs()),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => {
            "it ended before it authenticated".to_owned()
        }
        // What its process, or the service, said of it.
        ErrorKind::Other => error.to_string(),
        _ => format!("it is not a client of this version of bitcost: {error}"),
    }
}

const LAST: Duration = Duration::from_secs(1);

/// The most bytes of private memory: what waits in both directions, and the library.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

/// The most descriptors: three standard ones, and one for each half of the connection and the channel.
const DESCRIPTORS_MAX: u64 = 16;

/// Gives up all privileges, and serves the connection that is its standard input, for the service at its standard output.
pub fn main() -> io::Result<()> {
    // A kernel before Linux 5.9 leaves open what the service was given by what started it.
    let _ = close_inherited();
    limit_resources(MEMORY_BYTES_MAX, DESCRIPTORS_MAX)?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let channel = Channel::from(io::stdout().as_fd().try_clone_to_owned()?);
    match confine(Also::Nothing) {
        Ok(confined) => serve(socket.into(), channel, confined),
        Err(why) => (&channel).send(&frame(&Said::Failed(why.0)), Instant::now() + LAST),
    }
}

/// Speaks TLS with a client, and passes on what it says.
pub fn serve(socket: TcpStream, channel: Channel, confined: String) -> io::Result<()> {
    let until = Instant::now() + OPENING;
    channel.set_nonblocking(true)?;
    let channel = Arc::new(channel);
    (&*channel).send(&frame(&Said::Confined(confined)), until)?;
    let remote = Remote {
        public: heard(&channel, until)?,
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

/// The bytes of an answer of the service.
fn heard(mut channel: &Channel, until: Instant) -> io::Result<Vec<u8>> {
    let text = channel.read_frame(&mut Frames::new(SAID_BYTES_MAX), until)?;
    Ok(serde_json::from_slice(&text)?)
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
        let said = frame(&Said::Sign(message.to_vec()));
        (&*self.channel)
            .send(&said, self.until)
            .and_then(|()| heard(&self.channel, self.until))
            .map_err(|_| Error::General("the service did not sign the handshake".to_owned()))
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
