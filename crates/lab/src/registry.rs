//! Running labs, by name: each listens on a socket in the abstract namespace (unix(7)), which is
//! removed with its process, however that ends. Users do not see each other's labs.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use bitcost_model::shaping::Shaping;
use bitcost_sys::process::{effective_uid, wait_readable};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use serde::{Deserialize, Serialize};

use crate::LabError;
use crate::state::State;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its name, which no other lab of the user has.
    pub name: String,
    /// The preset or file that it was made from.
    pub origin: String,
    /// When it was built: local time with offset (RFC 3339).
    pub since: String,
    pub pid: u32,
    #[serde(flatten)]
    pub state: State,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    Describe,
    Down,
    /// To change what these devices do to packets that leave by them.
    Set(Vec<(String, Shaping)>),
}

/// The lab after a change, with a sentence for each thing to know; or why there was none.
pub type Outcome = Result<(Description, Vec<String>), LabError>;

/// A client that waits: for the outcome of a change, or until its connection is closed because the
/// lab is gone.
#[derive(Debug)]
pub struct Client(UnixStream);

impl Client {
    pub fn answer(self, outcome: &Outcome) {
        let _ = say(&self.0, outcome);
    }
}

const MESSAGE_LIMIT: Duration = Duration::from_secs(2);
const CHANGE_LIMIT: Duration = Duration::from_secs(30);
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long connecting waits for room in a full backlog.
const BUSY_LIMIT: Duration = Duration::from_secs(1);
/// The most labs of one base name that are numbered; further ones get a random suffix.
const NUMBERS_MAX: u32 = 1000;
const RANDOM_NAMES: u32 = 16;

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{}{name}", prefix()))
}

fn prefix() -> String {
    format!("bitcost-lab/{}/", effective_uid())
}

/// A name of this user, taken until this is dropped.
#[derive(Debug)]
pub struct Claim {
    pub name: String,
    listener: UnixListener,
}

impl Claim {
    /// Takes the name `asked`; without one `base`, or if that is taken `base` with a number or random letters.
    pub fn take(asked: Option<&str>, base: &str) -> Result<Claim, LabError> {
        let numbered = (2..NUMBERS_MAX).map(|number| format!("{base}-{number}"));
        let names = std::iter::once(asked.unwrap_or(base).to_owned());
        // Other users may have taken every name that can be predicted: the keys of a hasher are random.
        let random = || RandomState::new().hash_one(0u32) as u32;
        let random = (0..RANDOM_NAMES).map(|_| format!("{base}-{:08x}", random()));
        let further = numbered.chain(random).filter(|_| asked.is_none());
        for name in names.chain(further) {
            match address(&name).and_then(|address| UnixListener::bind_addr(&address)) {
                Ok(listener) => return Ok(Claim { name, listener }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => {
                    return Err(LabError::build(&format!("take the name {name}"), &error));
                }
            }
        }
        let name = asked.unwrap_or(base);
        let happened = match other_owner(name) {
            Some(who) => {
                format!("the name {name} is taken by {who}; choose another name: --name NAME")
            }
            None => format!(
                "a lab named {name} is already running; choose another name, or take it down: bitcost lab down {name}"
            ),
        };
        Err(LabError::happened(happened))
    }

    /// Waits for a client, at most for `limit`. One that wants the description gets it; the request
    /// of another is returned.
    ///
    /// # Errors
    /// The listener's. A client that sends nothing or leaves is no error.
    pub fn serve(
        &self,
        description: &Description,
        limit: Duration,
    ) -> io::Result<Option<(Request, Client)>> {
        if !wait_readable(&self.listener, limit)? {
            return Ok(None);
        }
        let (stream, _) = self.listener.accept()?;
        Ok(match request(&stream) {
            Ok(Request::Describe) => {
                // A client that has left needs no answer.
                let _ = say(&stream, description);
                None
            }
            request => request.ok().map(|request| (request, Client(stream))),
        })
    }
}

/// The user of the peer when the connection was made (unix(7), `SO_PEERCRED`).
fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    Ok(socket_peercred(stream)?.uid.as_raw())
}

fn request(stream: &UnixStream) -> io::Result<Request> {
    if peer_uid(stream)? != effective_uid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    hear(stream, MESSAGE_LIMIT)
}

fn say(mut stream: &UnixStream, word: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    stream.set_write_timeout(Some(MESSAGE_LIMIT))?;
    stream.write_all(&line)
}

fn hear<T: for<'a> Deserialize<'a>>(stream: &UnixStream, limit: Duration) -> io::Result<T> {
    stream.set_read_timeout(Some(limit))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// Who has this name, described by the text; absent where it is a lab of this user, or nobody has
/// it.
pub fn other_owner(name: &str) -> Option<String> {
    match connect_to(name, BUSY_LIMIT) {
        Ok((_, uid)) => (uid != effective_uid()).then(|| format!("a process of user {uid}")),
        // The kernel does not report the user of a socket without a listener.
        Err(_) => {
            let is_taken = listed().is_ok_and(|names| names.iter().any(|taken| taken == name));
            is_taken.then(|| "a socket that is not a lab of yours".to_owned())
        }
    }
}

/// A connection to the socket of this name, and the user id of its process. Where its backlog is
/// full, connecting waits for at most `limit`, which is not 0 (socket(7), `SO_SNDTIMEO`).
fn connect_to(name: &str, limit: Duration) -> io::Result<(UnixStream, u32)> {
    let (family, flags) = (AddressFamily::UNIX, SocketFlags::CLOEXEC);
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(limit))?;
    let name = format!("{}{name}", prefix());
    let there = SocketAddrUnix::new_abstract_name(name.as_bytes())?;
    rustix::net::connect(&socket, &there)?;
    let stream = UnixStream::from(socket);
    let uid = peer_uid(&stream)?;
    Ok((stream, uid))
}

/// A connection to the lab of this name, if it belongs to this user.
fn connect(name: &str) -> io::Result<UnixStream> {
    match connect_to(name, BUSY_LIMIT)? {
        (stream, uid) if uid == effective_uid() => Ok(stream),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Every name under this user's id that a socket has, in order; processes of any user can take one.
fn listed() -> io::Result<Vec<String>> {
    let table = std::fs::read("/proc/net/unix")?;
    // Names of other sockets may be any bytes.
    let table = String::from_utf8_lossy(&table);
    let start = format!("@{}", prefix());
    let paths = table
        .lines()
        .filter_map(|line| line.split_whitespace().nth(7));
    let mut names: Vec<String> = paths
        .filter_map(|path| path.strip_prefix(&start))
        .map(str::to_owned)
        .collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// The names of this user's running labs, in order.
pub fn names() -> io::Result<Vec<String>> {
    let mut names = listed()?;
    let deadline = Instant::now() + BUSY_LIMIT;
    names.retain(|name| {
        let left = deadline.saturating_duration_since(Instant::now());
        let connected = connect_to(name, left.max(Duration::from_millis(1)));
        connected.is_ok_and(|(_, uid)| uid == effective_uid())
    });
    Ok(names)
}

/// The description of the lab of this name; `None` if it is not running.
pub fn describe(name: &str) -> Option<Description> {
    let stream = connect(name).ok()?;
    say(&stream, &Request::Describe).ok()?;
    hear(&stream, ANSWER_LIMIT).ok()
}

/// Changes what these devices of the lab of this name do to packets that leave by them.
///
/// # Errors
/// When one of them cannot be changed; all are then as they were.
pub fn set(name: &str, wanted: Vec<(String, Shaping)>) -> Outcome {
    let cannot = |error| LabError::build(&format!("ask the lab {name} for a change"), &error);
    let stream = connect(name).map_err(cannot)?;
    say(&stream, &Request::Set(wanted)).map_err(cannot)?;
    hear::<Outcome>(&stream, CHANGE_LIMIT).map_err(cannot)?
}

/// Takes the lab of this name down, and waits until it is gone.
pub fn take_down(name: &str) -> Result<(), LabError> {
    let cannot = |error| LabError::build(&format!("take the lab {name} down"), &error);
    let stream = connect(name).map_err(cannot)?;
    say(&stream, &Request::Down).map_err(cannot)?;
    match wait_readable(&stream, ANSWER_LIMIT).map_err(cannot)? {
        true => Ok(()),
        false => Err(cannot(io::ErrorKind::TimedOut.into())),
    }
}
