//! Labs that stand, by name: each listens at a socket in the abstract namespace (unix(7)), which is gone with its
//! process, whichever way that ends. Users do not see each other's labs.

use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use model::topology::Topology;
use serde::{Deserialize, Serialize};
use sys::process::{effective_uid, wait_readable};

use crate::{Door, LabError};

/// What a lab says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its name, which no other lab of the user has.
    pub name: String,
    /// The preset or file that it was made from.
    pub origin: String,
    /// When it was built: local time with offset (RFC 3339).
    pub since: String,
    /// The process that keeps it.
    pub pid: u32,
    /// The way into it.
    pub door: Door,
    /// What it is.
    pub topology: Topology,
}

/// What a visitor asks.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// What it is.
    Describe,
    /// That it goes.
    Down,
}

/// How long one side waits for the other's word.
const WORD_LIMIT: Duration = Duration::from_secs(2);
/// How long a lab may take to go.
const DOWN_LIMIT: Duration = Duration::from_secs(10);
/// How long sockets are asked again that have no room for a visitor.
const BUSY_LIMIT: Duration = Duration::from_secs(1);
const BUSY_POLL: Duration = Duration::from_millis(5);
/// Most labs of one base name that are numbered; further ones have a random name behind it.
const NUMBERS_MAX: u32 = 1000;
/// Random names that are tried.
const RANDOM_NAMES: u32 = 16;

fn address(name: &str) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("{}{name}", prefix()))
}

fn prefix() -> String {
    format!("bitcost-lab/{}/", effective_uid())
}

/// A name of this user's that is taken while this lives.
#[derive(Debug)]
pub struct Claim {
    /// The name.
    pub name: String,
    listener: UnixListener,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing was asked that changes anything.
    Stay,
    /// The lab is to go.
    Down,
}

impl Claim {
    /// Takes the name `asked`; without one `base`, or with a number or letters behind it where that is taken.
    pub fn take(asked: Option<&str>, base: &str) -> Result<Claim, LabError> {
        let names: Box<dyn Iterator<Item = String>> = match asked {
            Some(name) => Box::new(std::iter::once(name.to_owned())),
            None => {
                let numbered = (2..NUMBERS_MAX).map(|number| format!("{base}-{number}"));
                // Others may have taken every name that could be foreseen.
                let random = (0..RANDOM_NAMES).map(|_| format!("{base}-{:08x}", random()));
                Box::new(std::iter::once(base.to_owned()).chain(numbered).chain(random))
            }
        };
        for name in names {
            match address(&name).and_then(|address| UnixListener::bind_addr(&address)) {
                Ok(listener) => return Ok(Claim { name, listener }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(LabError::build(&format!("take the name {name}"), &error)),
            }
        }
        let name = asked.unwrap_or(base);
        let happened = match holder(name) {
            Holder::Stranger(who) => format!("the name {name} is taken by {who}; take another name: --name NAME"),
            Holder::Own | Holder::Nobody => format!(
                "a lab named {name} stands already; take another name, or take it down: bitcost lab down {name}"
            ),
        };
        Err(LabError::Build { happened })
    }

    /// Waits for a visitor, at most so long, and answers. A visitor who asks the lab to go is told by the end of the
    /// returned connection that it is gone.
    ///
    /// # Errors
    /// The listener's. A visitor who says nothing or leaves is none.
    pub fn serve(&self, description: &Description, limit: Duration) -> io::Result<(Wish, Option<UnixStream>)> {
        if !wait_readable(&self.listener, limit)? {
            return Ok((Wish::Stay, None));
        }
        let (stream, _) = self.listener.accept()?;
        match answer(&stream, description) {
            Ok(Wish::Down) => Ok((Wish::Down, Some(stream))),
            Ok(Wish::Stay) | Err(_) => Ok((Wish::Stay, None)),
        }
    }
}

fn answer(stream: &UnixStream, description: &Description) -> io::Result<Wish> {
    if sys::socket::peer_uid(stream)? != effective_uid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    match hear(stream)? {
        Question::Describe => say(stream, description).map(|()| Wish::Stay),
        Question::Down => Ok(Wish::Down),
    }
}

fn say(mut stream: &UnixStream, word: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(word)?;
    line.push(b'\n');
    stream.set_write_timeout(Some(WORD_LIMIT))?;
    stream.write_all(&line)
}

fn hear<T: for<'a> Deserialize<'a>>(stream: &UnixStream) -> io::Result<T> {
    stream.set_read_timeout(Some(WORD_LIMIT))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}

/// 32 bits that others cannot foresee: the keys of a hasher are random.
fn random() -> u32 {
    RandomState::new().hash_one(0u32) as u32
}

/// Who has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// No socket has it.
    Nobody,
    /// A process of this user.
    Own,
    /// Another user's process, in words.
    Stranger(String),
}

/// Who has this name among this user's labs.
pub fn holder(name: &str) -> Holder {
    match visit(name, Instant::now() + BUSY_LIMIT) {
        Ok((_, uid)) if uid == effective_uid() => Holder::Own,
        Ok((_, uid)) => Holder::Stranger(format!("a process of user {uid}")),
        // Of a socket that nobody listens at the kernel does not tell the user.
        Err(_) if listed().is_ok_and(|names| names.iter().any(|taken| taken == name)) => {
            Holder::Stranger("a socket that is no lab of yours".to_owned())
        }
        Err(_) => Holder::Nobody,
    }
}

/// A connection to whatever has this name, and whose process that is. One without room for a visitor is asked again until
/// the deadline.
fn visit(name: &str, deadline: Instant) -> io::Result<(UnixStream, u32)> {
    let name = format!("{}{name}", prefix());
    loop {
        match sys::socket::connect_abstract(&name) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline => {
                std::thread::sleep(BUSY_POLL);
            }
            connected => {
                let stream = connected?;
                let uid = sys::socket::peer_uid(&stream)?;
                return Ok((stream, uid));
            }
        }
    }
}

/// A connection to the lab of this name, if it is this user's.
fn connect(name: &str) -> io::Result<UnixStream> {
    match visit(name, Instant::now() + BUSY_LIMIT)? {
        (stream, uid) if uid == effective_uid() => Ok(stream),
        _ => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// Every name under this user's number that a socket has, in order; any user's process can take one.
fn listed() -> io::Result<Vec<String>> {
    let table = std::fs::read("/proc/net/unix")?;
    // Names of others may be any bytes.
    let table = String::from_utf8_lossy(&table);
    let start = format!("@{}", prefix());
    let paths = table.lines().filter_map(|line| line.split_whitespace().nth(7));
    let mut names: Vec<String> = paths.filter_map(|path| path.strip_prefix(&start)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
    Ok(names)
}

/// The names of this user's labs that stand, in order.
///
/// # Errors
/// When the table of sockets cannot be read.
pub fn names() -> io::Result<Vec<String>> {
    let mut names = listed()?;
    let deadline = Instant::now() + BUSY_LIMIT;
    names.retain(|name| visit(name, deadline).is_ok_and(|(_, uid)| uid == effective_uid()));
    Ok(names)
}

/// What the lab of this name says of itself; `None` where it is gone.
pub fn describe(name: &str) -> Option<Description> {
    let stream = connect(name).ok()?;
    say(&stream, &Question::Describe).ok()?;
    hear(&stream).ok()
}

/// Asks the lab of this name to go, and waits until it is gone.
pub fn take_down(name: &str) -> Result<(), LabError> {
    let cannot = |error| LabError::build(&format!("take the lab {name} down"), &error);
    let stream = connect(name).map_err(cannot)?;
    say(&stream, &Question::Down).map_err(cannot)?;
    match wait_readable(&stream, DOWN_LIMIT).map_err(cannot)? {
        true => Ok(()),
        false => Err(cannot(io::ErrorKind::TimedOut.into())),
    }
}
