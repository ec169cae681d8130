//! The process that reads what foreign hosts send, without any privilege. One for each connection speaks TLS with the client and
//! reads its first message; the private key, the link's secret and the judgement are the service's.

use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bitcost_sys::process::close_inherited;
use bitcost_sys::seccomp::Also;
use rustix::process::Resource;
use rustls::sign::{Signer, SigningKey};
use rustls::{Error, ServerConnection, SignatureAlgorithm, SignatureScheme};
use serde::{Deserialize, Serialize};

use crate::confine::{confine, limit};
use crate::message::{OPENING_BYTES_MAX, frame, read_frame};
use crate::relay::relay;
use crate::stream::{Secure, Until};
use crate::tls;

pub const FRONT_VERB: &str = "serve-front";

/// The time in which a client must have said that it has the link.
pub const OPENING: Duration = Duration::from_secs(5);

/// The longest message of [`Said`], in bytes: what is to be signed is a list of numbers.
pub const SAID_BYTES_MAX: usize = 4 << 10;

/// The socket between this process and the service.
pub type Channel = UnixStream;

/// Starts what speaks TLS on a connection, with the channel to it; a process, unless it is a thread of a test.
pub type StartFront = dyn Fn(OwnedFd, OwnedFd) -> io::Result<Option<Child>> + Sync;

/// What this process says to the service before the client's own messages begin, in this order.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Said {
    /// What it may still do; the answer is the service's public key.
    Confined(String),
    /// This must be signed with the service's key; the answer is the signature's bytes.
    Sign(Vec<u8>),
    /// The client said this first: the secret of a link.
    Opened(String),
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

/// The most bytes of private memory: what waits in both directions, and the library.
const MEMORY_BYTES_MAX: u64 = 64 << 20;

/// The most descriptors: three standard ones, and one for each half of the connection and the channel.
const DESCRIPTORS_MAX: u64 = 16;

/// Gives up all privileges, and serves the connection that is its standard input, for the service at its standard output.
pub fn main() -> io::Result<()> {
    // A kernel before Linux 5.9 leaves open what the service was given by what started it.
    let _ = close_inherited();
    limit(Resource::Data, MEMORY_BYTES_MAX)?;
    limit(Resource::Nofile, DESCRIPTORS_MAX)?;
    limit(Resource::Fsize, 0)?;
    let socket = io::stdin().as_fd().try_clone_to_owned()?;
    let channel = Channel::from(io::stdout().as_fd().try_clone_to_owned()?);
    match confine(Also::Nothing) {
        Ok(confined) => serve(socket.into(), channel, confined),
        Err(why) => (&channel).write_all(&frame(&Said::Failed(why.0))),
    }
}

/// Speaks TLS with a client, and passes on what it says.
pub fn serve(socket: TcpStream, channel: Channel, confined: String) -> io::Result<()> {
    let until = Instant::now() + OPENING;
    // What is said before the client's messages always finds room in it.
    channel.set_nonblocking(true)?;
    let service = Service(Arc::new(channel), until);
    let public = service.asked(&Said::Confined(confined))?;
    let (opened, said) = match open(socket, &service, &public) {
        Ok((secure, secret)) => (Some(secure), Said::Opened(secret)),
        Err(error) => (None, Said::Failed(failure(&error))),
    };
    (&*service.0).write_all(&frame(&said))?;
    match opened {
        Some(mut secure) => relay(&mut secure, &*service.0, &*service.0).map(drop),
        None => Ok(()),
    }
}

/// The handshake, and the first message.
fn open(socket: TcpStream, service: &Service, public: &[u8]) -> io::Result<(Secure, String)> {
    let until = service.1;
    let tls = tls::of_service(public, Arc::new(service.clone()))
        .and_then(ServerConnection::new)
        .map_err(io::Error::other)?;
    let mut secure = Secure::new(socket, tls)?;
    secure.handshake(until)?;
    let text = secure.message(OPENING_BYTES_MAX, until)?;
    Ok((secure, serde_json::from_slice(&text)?))
}

/// The service at the other end of the channel, which signs with its key, until a client must have shown the link.
#[derive(Clone, Debug)]
struct Service(Arc<Channel>, Instant);

impl Service {
    /// The bytes that the service answers.
    fn asked(&self, said: &Said) -> io::Result<Vec<u8>> {
        (&*self.0).write_all(&frame(said))?;
        let text = read_frame(&mut Until(&mut &*self.0, self.1), SAID_BYTES_MAX)?;
        Ok(serde_json::from_slice(&text)?)
    }
}

impl SigningKey for Service {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        let is_offered = offered.contains(&SignatureScheme::ED25519);
        is_offered.then(|| Box::new(self.clone()) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        SignatureAlgorithm::ED25519
    }
}

impl Signer for Service {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let signed = self.asked(&Said::Sign(message.to_vec()));
        signed.map_err(|_| Error::General("the service did not sign the handshake".to_owned()))
    }

    fn scheme(&self) -> SignatureScheme {
        SignatureScheme::ED25519
    }
}
