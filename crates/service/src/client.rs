//! A client's side of the opening: connects, proves its key, and says what it wants.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use bitcost_model::protocol::PROTOCOL;
use bitcost_model::{Unavailable, harmless};
use rustls::ClientConnection;

use crate::address::HostPort;
use crate::fingerprint::Fingerprint;
use crate::frames::{Frames, frame};
use crate::known::{Client, Known};
use crate::link::Link;
use crate::message::{Answer, Hello, Wants, clean_name};
use crate::secure::Secure;
use crate::stream::Stream;
use crate::tls;

/// The longest answer of a service before the control protocol begins, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The time for a TCP connection to each address, then for proving both keys, then for an answer.
const STEP: Duration = Duration::from_secs(5);

/// Why a service was not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreached {
    /// Nothing answers there: another way may be tried.
    #[error("no service answers at {at}: {why}")]
    Silent {
        /// Its host and port.
        at: String,
        /// The errors.
        why: String,
    },
    /// It ended the connection before it answered: it may be tried again.
    #[error(
        "the service at {at} ended the connection before it answered: it has too many connections, or is not a service of bitcost"
    )]
    Busy {
        /// Its host and port.
        at: String,
    },
    /// It answers, and does not serve: no other way is tried.
    #[error("the service at {at}: {why}")]
    Refused {
        /// Its host and port.
        at: String,
        /// The rule or the error.
        why: String,
    },
}

/// A name's addresses, as this machine's resolver gives them.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Result<Vec<IpAddr>, Unavailable>;

/// Enrols this host at the service of a link, unless it already is; the service is kept with its
/// key. Returns whether it was new.
pub fn enrol(
    client: &Client,
    link: &Link,
    name: &str,
    resolve: Resolve<'_>,
) -> Result<bool, Unreached> {
    let at = &link.at;
    let local = |why: Unavailable| refused(at, why);
    let known = Known {
        host: at.host.clone(),
        port: at.port,
        service: link.service,
        enrolled_s: 0,
    };
    let found = client.find(&at.to_string()).map_err(local)?;
    if found.iter().any(|found| found.service == link.service)
        && check(client, &known, resolve).is_ok()
    {
        return Ok(false);
    }
    let wants = Wants::Enrol {
        token: link.token.letters(),
        name: clean_name(name),
    };
    let mut open = open(client, &known, Hello::new(wants), resolve)?;
    open.answer(at)?;
    client.keep(at, link.service).map_err(local)?;
    Ok(true)
}

/// Whether the service answers, proves its key and serves this host; returns a note where it is
/// another version of bitcost that works.
pub fn check(
    client: &Client,
    known: &Known,
    resolve: Resolve<'_>,
) -> Result<Option<String>, Unreached> {
    let at = known.at();
    match open(client, known, Hello::new(Wants::Check), resolve)?.answer(&at)? {
        Answer::Welcome { version, .. } if version != env!("CARGO_PKG_VERSION") => {
            Ok(Some(format!(
                "the service at {at} is bitcost {}, this is {}; both speak version {PROTOCOL} of the control protocol",
                clean_name(&version),
                env!("CARGO_PKG_VERSION")
            )))
        }
        _ => Ok(None),
    }
}

/// A connection on which the service has the client's first message.
pub(crate) struct Open {
    pub secure: Secure,
    pub frames: Frames,
}

impl Open {
    fn answer(&mut self, at: &HostPort) -> Result<Answer, Unreached> {
        let text = self.answer_text(at)?;
        parse_answer(&text).map_err(|why| refused(at, why))
    }

    /// The text of the answer.
    pub fn answer_text(&mut self, at: &HostPort) -> Result<Vec<u8>, Unreached> {
        let text = self
            .secure
            .read_frame(&mut self.frames, Instant::now() + STEP);
        text.map_err(|error| unanswered(at, &error))
    }
}

/// Reads an answer that is not a refusal.
///
/// # Errors
/// The rule of a refusal, or that it is no answer.
pub fn parse_answer(text: &[u8]) -> Result<Answer, Unavailable> {
    let why = match serde_json::from_slice(text) {
        Ok(Answer::Refused { rule }) => harmless(&rule),
        Ok(Answer::Welcome { protocol, version }) if protocol != PROTOCOL => format!(
            "it is bitcost {} and speaks version {protocol} of the control protocol, this is bitcost {} and speaks {PROTOCOL}; use the same bitcost on both hosts",
            clean_name(&version),
            env!("CARGO_PKG_VERSION")
        ),
        Ok(answer) => return Ok(answer),
        Err(error) => format!(
            "its answer is not one of this version of bitcost ({error}); use the same bitcost on both hosts"
        ),
    };
    Err(Unavailable(why))
}

/// Connects, proves both keys, and says what is wanted.
pub(crate) fn open(
    client: &Client,
    known: &Known,
    first: Hello,
    resolve: Resolve<'_>,
) -> Result<Open, Unreached> {
    open_with(client, known, &frame(&first), resolve)
}

/// The same with the bytes of the first message.
pub(crate) fn open_with(
    client: &Client,
    known: &Known,
    first: &[u8],
    resolve: Resolve<'_>,
) -> Result<Open, Unreached> {
    let at = known.at();
    let own = client.own_key().map_err(|why| refused(&at, why))?;
    let socket = connect(&at, resolve)?;
    let mut secure = tls::of_client(&own, known.service)
        .and_then(|config| ClientConnection::new(config, tls::no_name()))
        .map_err(io::Error::other)
        .and_then(|tls| Secure::new(socket, tls))
        .map_err(|error| refused(&at, error.to_string()))?;
    secure
        .handshake(Instant::now() + STEP)
        .map_err(|error| unproved(&at, &error, known.service))?;
    secure
        .send(first, Instant::now() + STEP)
        .map_err(|error| unanswered(&at, &error))?;
    Ok(Open {
        secure,
        frames: Frames::new(ANSWER_BYTES_MAX),
    })
}

fn connect(at: &HostPort, resolve: Resolve<'_>) -> Result<TcpStream, Unreached> {
    let silent = |why: String| Unreached::Silent {
        at: at.to_string(),
        why,
    };
    let addresses = resolve(&at.host).map_err(|why| silent(why.0))?;
    let mut errors = Vec::new();
    for address in addresses {
        match TcpStream::connect_timeout(&SocketAddr::new(address, at.port), STEP) {
            Ok(socket) => return Ok(socket),
            Err(error) => errors.push(format!("{address}: {error}")),
        }
    }
    match errors.is_empty() {
        true => Err(silent("the host has no address".to_owned())),
        false => Err(silent(errors.join("; "))),
    }
}

fn refused(at: &HostPort, why: impl Into<String>) -> Unreached {
    Unreached::Refused {
        at: at.to_string(),
        why: why.into(),
    }
}

fn unproved(at: &HostPort, error: &io::Error, pinned: Fingerprint) -> Unreached {
    let is_other_key = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        .is_some_and(|error| matches!(error, rustls::Error::InvalidCertificate(_)));
    let why = match error.kind() {
        _ if is_other_key => format!(
            "its key is not {pinned}, the one that this host knows: another service answers there, or its key was replaced; request a new link only if you know why"
        ),
        _ if is_end(error) => return busy(at),
        ErrorKind::TimedOut => format!("it did not authenticate within {} s", STEP.as_secs()),
        _ => format!("it is not a service of this version of bitcost: {error}"),
    };
    refused(at, why)
}

fn unanswered(at: &HostPort, error: &io::Error) -> Unreached {
    match error.kind() {
        _ if is_end(error) => busy(at),
        ErrorKind::TimedOut => {
            refused(at, format!("it gave no answer within {} s", STEP.as_secs()))
        }
        _ => refused(at, error.to_string()),
    }
}

fn busy(at: &HostPort) -> Unreached {
    Unreached::Busy { at: at.to_string() }
}

/// Whether the service ended the connection.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}
