//! The client's process in place of an agent at a service: it connects, has the service prove its key, shows the link's secret, waits
//! for its turn, and then carries messages between standard input and output and the agent there.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_model::Unavailable;
use bitcost_model::protocol::{FailureCause, FromAgent};
use ring::rand::SystemRandom;
use rustls::ClientConnection;

use crate::address::HostPort;
use crate::frames::{Frames, frame};
use crate::link::Link;
use crate::message::{Answer, Hello};
use crate::relay::{End, Queues, Sides, relay};
use crate::secure::Secure;
use crate::stream::Stream;
use crate::tls;

/// The longest answer of a service before the control protocol begins, in bytes.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 10;

/// The time for a TCP connection to each address, then for the proof of the key, then for an answer.
const STEP: Duration = Duration::from_secs(5);

/// How often a service is tried that ends the connection before it answers, as one does that has too many.
const TRIES: u32 = 5;

/// The wait between two tries, in milliseconds: at random between these, so that the clients that a
/// service dropped do not all come back at the same time.
const WAIT_MS: [u64; 2] = [500, 1500];

/// The longest time without an answer of a service that this client waits for.
const SILENCE: Duration = Duration::from_secs(15);

/// How often the user is told again that the test waits.
const TELL: Duration = Duration::from_secs(10);

/// A name's addresses, as this machine's resolver gives them.
pub type Resolve<'a> = &'a dyn Fn(&str) -> Result<Vec<IpAddr>, Unavailable>;

/// How the client's process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The controller has ended it, or knows why it ended by a last message.
    Done,
    /// The connection is lost, or the service ended it.
    Lost,
}

/// Why a service was not reached.
pub(crate) enum Unreached {
    /// It ended the connection before it answered: it may be tried again.
    Busy,
    /// It does not answer, or does not serve.
    Not(String),
}

/// A connection on which the service has the client's first message.
pub(crate) struct Open {
    pub secure: Secure,
    pub frames: Frames,
}

/// Carries messages between standard input and output and an agent at the service of a link until either ends.
/// `tell` gets a line for people while the client waits.
///
/// # Errors
/// Standard input and output cannot be used.
pub fn carry(link: &Link, resolve: Resolve<'_>, tell: &mut dyn FnMut(&str)) -> io::Result<Carried> {
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let at = &link.at;
    let mut waits = |line: &str| {
        // The controller must know that this process lives.
        let _ = output.write_all(&frame(&FromAgent::Alive));
        tell(line);
    };
    let opened = patiently(at, &mut waits, || {
        let mut opened = open(link, &frame(&Hello::new(link.token)), resolve)?;
        let text = opened.answer()?;
        Ok((opened, text))
    });
    let (mut opened, text) = match opened {
        Ok(opened) => opened,
        Err(why) => {
            output.write_all(&failed(format!("the service at {at}: {why}")))?;
            return Ok(Carried::Done);
        }
    };
    let mut sides = Turn {
        at,
        frames: Some(opened.frames),
        tell,
        told: None,
        heard: Instant::now(),
    };
    let mut queues = Queues::default();
    if sides.answer(&text, &mut queues).is_err() {
        output.write_all(&queues.inward)?;
        return Ok(Carried::Done);
    }
    Ok(
        match relay(&mut opened.secure, input, output, &mut sides, queues) {
            End::Process | End::Told => Carried::Done,
            End::Peer | End::Broken(_) => Carried::Lost,
        },
    )
}

/// Does this until the service is not busy, but no more than [`TRIES`] times.
fn patiently<T>(
    at: &HostPort,
    tell: &mut dyn FnMut(&str),
    mut attempt: impl FnMut() -> Result<T, Unreached>,
) -> Result<T, String> {
    for next in 2.. {
        match attempt() {
            Ok(done) => return Ok(done),
            Err(Unreached::Not(why)) => return Err(why),
            Err(Unreached::Busy) if next > TRIES => break,
            Err(Unreached::Busy) => {}
        }
        let wait = wait();
        tell(&format!(
            "the service at {at} is busy; trying again in {:.1} s ({next} of {TRIES})",
            wait.as_secs_f64()
        ));
        std::thread::sleep(wait);
    }
    Err("it ended the connection before it answered: it has too many connections, or is not a service of bitcost".to_owned())
}

fn wait() -> Duration {
    let [least, most] = WAIT_MS;
    let random = ring::rand::generate::<[u8; 8]>(&SystemRandom::new());
    let extra = random.map_or(0, |random| u64::from_be_bytes(random.expose()));
    Duration::from_millis(least + extra % (most - least + 1))
}

/// Connects, has the service prove its key, and says these bytes first.
pub(crate) fn open(link: &Link, first: &[u8], resolve: Resolve<'_>) -> Result<Open, Unreached> {
    let own = |error: io::Error| Unreached::Not(error.to_string());
    let socket = connect(&link.at, resolve)?;
    let mut secure = tls::of_client(link.service)
        .and_then(|config| ClientConnection::new(config, tls::no_name()))
        .map_err(io::Error::other)
        .and_then(|tls| Secure::new(socket, tls))
        .map_err(own)?;
    secure
        .handshake(Instant::now() + STEP)
        .map_err(|error| unproved(&error))?;
    secure
        .send(first, Instant::now() + STEP)
        .map_err(|error| unanswered(&error))?;
    Ok(Open {
        secure,
        frames: Frames::new(ANSWER_BYTES_MAX),
    })
}

impl Open {
    /// The text of the answer.
    pub fn answer(&mut self) -> Result<Vec<u8>, Unreached> {
        let until = Instant::now() + STEP;
        let text = self.secure.read_frame(&mut self.frames, until);
        text.map_err(|error| unanswered(&error))
    }
}

fn connect(at: &HostPort, resolve: Resolve<'_>) -> Result<TcpStream, Unreached> {
    let silent = |why: String| Unreached::Not(format!("nothing answers there: {why}"));
    let addresses = resolve(&at.host).map_err(|why| silent(why.0))?;
    let mut errors = vec![];
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

fn unproved(error: &io::Error) -> Unreached {
    let is_other_key = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>())
        .is_some_and(|error| matches!(error, rustls::Error::InvalidCertificate(_)));
    match error.kind() {
        _ if is_other_key => Unreached::Not(
            "its key is not the one of the link: another service answers there, or it has a new link".to_owned(),
        ),
        _ if is_end(error) => Unreached::Busy,
        ErrorKind::TimedOut => {
            Unreached::Not(format!("it did not prove its key within {} s", STEP.as_secs()))
        }
        _ => Unreached::Not(format!(
            "it is not a service of this version of bitcost: {error}"
        )),
    }
}

fn unanswered(error: &io::Error) -> Unreached {
    match error.kind() {
        _ if is_end(error) => Unreached::Busy,
        ErrorKind::TimedOut => {
            Unreached::Not(format!("it gave no answer within {} s", STEP.as_secs()))
        }
        _ => Unreached::Not(error.to_string()),
    }
}

/// Whether the service ended the connection.
fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
    )
}

/// A last message to the controller.
fn failed(reason: String) -> Vec<u8> {
    frame(&FromAgent::Failed {
        reason,
        cause: FailureCause::Other,
    })
}

/// What the service says before the control protocol begins; what the controller says meanwhile is held.
struct Turn<'a> {
    at: &'a HostPort,
    /// Absent: the control protocol has begun.
    frames: Option<Frames>,
    tell: &'a mut dyn FnMut(&str),
    told: Option<Instant>,
    heard: Instant,
}

impl Turn<'_> {
    fn answer(&mut self, text: &[u8], queues: &mut Queues) -> Result<(), End> {
        match Answer::read(text) {
            Ok(Answer::Waiting) => {
                // The controller must know that this process lives.
                queues.inward.extend_from_slice(&frame(&FromAgent::Alive));
                if self.told.is_none_or(|told| told.elapsed() >= TELL) {
                    self.told = Some(Instant::now());
                    let at = self.at;
                    (self.tell)(&format!("waiting at {at}: another test has the host"));
                }
                Ok(())
            }
            Ok(_) => {
                let rest = self.frames.take().map(Frames::rest).unwrap_or_default();
                queues.inward.extend_from_slice(&rest);
                queues.outward.append(&mut queues.held);
                Ok(())
            }
            Err(why) => self.end(&why.0, queues),
        }
    }

    fn end(&self, why: &str, queues: &mut Queues) -> Result<(), End> {
        let reason = format!("the service at {}: {why}", self.at);
        queues.inward.extend_from_slice(&failed(reason));
        Err(End::Told)
    }
}

impl Sides for Turn<'_> {
    fn peer_says(&mut self, bytes: &[u8], queues: &mut Queues) -> Result<(), End> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.heard = Instant::now();
        let Some(frames) = &mut self.frames else {
            queues.inward.extend_from_slice(bytes);
            return Ok(());
        };
        frames.push(bytes);
        while let Some(frames) = &mut self.frames {
            match frames.take() {
                Ok(Some(text)) => self.answer(&text, queues)?,
                Ok(None) => break,
                Err(long) => return self.end(&format!("it sends {long}"), queues),
            }
        }
        Ok(())
    }

    fn process_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        match self.frames {
            None => queues.outward.extend_from_slice(bytes),
            Some(_) => queues.held.extend_from_slice(bytes),
        }
    }

    fn look(&mut self, queues: &mut Queues) -> Result<(), End> {
        if self.frames.is_some() && self.heard.elapsed() > SILENCE {
            let silence = SILENCE.as_secs();
            return self.end(&format!("it has not answered for {silence} s"), queues);
        }
        Ok(())
    }
}
