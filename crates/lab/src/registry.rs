//! Labs that stand, by name: each listens at a socket in the abstract namespace (unix(7)), which is gone with its
//! process, whichever way that ends. Users do not see each other's labs.

use std::io::{self, BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

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
enum Question {
    Describe,
    Down,
}

/// How long one side waits for the other's word.
const WORD_LIMIT: Duration = Duration::from_secs(2);
/// How long a lab may take to go.
const DOWN_LIMIT: Duration = Duration::from_secs(10);
/// Most labs of one base name.
const NAMES_MAX: u32 = 10_000;

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
    /// Takes the name `asked`; without one `base`, or with a number behind it where that is taken.
    pub fn take(asked: Option<&str>, base: &str) -> Result<Claim, LabError> {
        let numbered = |number: u32| if number == 1 { base.to_owned() } else { format!("{base}-{number}") };
        let names: Vec<String> = match asked {
            Some(name) => vec![name.to_owned()],
            None => (1..NAMES_MAX).map(numbered).collect(),
        };
        for name in names {
            match address(&name).and_then(|address| UnixListener::bind_addr(&address)) {
                Ok(listener) => return Ok(Claim { name, listener }),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                Err(error) => return Err(LabError::build(&format!("take the name {name}"), &error)),
            }
        }
        let name = asked.unwrap_or(base);
        Err(LabError::Build {
            happened: format!(
                "a lab named {name} stands already; take another name, or take it down: bitcost lab down {name}"
            ),
        })
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

/// A connection to the lab of this name, if it is this user's.
fn connect(name: &str) -> io::Result<UnixStream> {
    let stream = UnixStream::connect_addr(&address(name)?)?;
    match sys::socket::peer_uid(&stream)? == effective_uid() {
        true => Ok(stream),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The names of this user's labs that stand, in order.
pub fn names() -> io::Result<Vec<String>> {
    let table = std::fs::read_to_string("/proc/net/unix")?;
    let start = format!("@{}", prefix());
    let paths = table.lines().filter_map(|line| line.split_whitespace().nth(7));
    let mut names: Vec<String> = paths.filter_map(|path| path.strip_prefix(&start)).map(str::to_owned).collect();
    names.sort();
    names.dedup();
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
