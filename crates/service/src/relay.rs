//! Passes bytes between a TLS connection and a local process, both ways. Either side is read only when the other one has taken
//! what was read before.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_sys::process::wait_ready;
use bitcost_sys::socket::is_passing;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::OFlags;

use crate::stream::{Secure, Until};

/// The most bytes of one read.
const PART: usize = 32 << 10;

/// The time in which a side gets the last that the other one said.
const FAREWELL: Duration = Duration::from_secs(2);

pub enum End {
    /// The peer is gone, or the connection is lost.
    Peer,
    /// The process ended its output, or reads no more.
    Process,
}

/// Passes bytes on until one side ends, and then what that said last.
pub fn relay(
    peer: &mut Secure,
    mut input: impl Read + AsFd,
    mut output: impl Write + AsFd,
) -> io::Result<End> {
    unblock(&input)?;
    unblock(&output)?;
    let mut inward = Vec::new();
    let end = pass(peer, &mut input, &mut output, &mut inward)?;
    let until = Instant::now() + FAREWELL;
    let mut bytes = [0; PART];
    match end {
        End::Peer => {
            // A peer that takes no more may have said why.
            while let Ok(length @ 1..) = peer.read(&mut bytes) {
                inward.extend_from_slice(&bytes[..length]);
            }
            let _ = Until(&mut output, until).write_all(&inward);
        }
        End::Process => {
            // One that takes no more may have yet to say why.
            let mut said = peer.send(&[], until);
            let mut next = |bytes: &mut [u8]| Until(&mut input, until).read(bytes);
            while let (Ok(()), Ok(length @ 1..)) = (&said, next(&mut bytes)) {
                said = peer.send(&bytes[..length], until);
            }
        }
    }
    Ok(end)
}

fn unblock(file: impl AsFd) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    Ok(rustix::fs::fcntl_setfl(&file, flags | OFlags::NONBLOCK)?)
}

/// Passes bytes on until one side ends; what the process has yet to take is then in `inward`.
fn pass(
    peer: &mut Secure,
    input: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
    inward: &mut Vec<u8>,
) -> io::Result<End> {
    let mut bytes = [0; PART];
    loop {
        let Ok(is_full) = ready(peer.flush()).map(|flushed| flushed.is_none()) else {
            return Ok(End::Peer);
        };
        if !inward.is_empty() {
            match ready(output.write(inward)) {
                Ok(taken) => drop(inward.drain(..taken.unwrap_or(0))),
                Err(_) => return Ok(End::Process),
            }
        }
        if inward.is_empty() {
            match ready(peer.read(&mut bytes)) {
                Ok(Some(0)) | Err(_) => return Ok(End::Peer),
                Ok(length) => inward.extend_from_slice(&bytes[..length.unwrap_or(0)]),
            }
        }
        if !is_full {
            match ready(input.read(&mut bytes)) {
                Ok(Some(0)) | Err(_) => return Ok(End::Process),
                Ok(Some(length)) => peer.tls.writer().write_all(&bytes[..length])?,
                Ok(None) => {}
            }
        }
        let is_full = peer.tls.wants_write();
        let (mut of_peer, mut fds) = (PollFlags::empty(), Vec::new());
        of_peer.set(PollFlags::IN, inward.is_empty());
        of_peer.set(PollFlags::OUT, is_full);
        fds.push(PollFd::new(&*peer, of_peer));
        if !is_full {
            fds.push(PollFd::new(&*input, PollFlags::IN));
        }
        if !inward.is_empty() {
            fds.push(PollFd::new(&*output, PollFlags::OUT));
        }
        wait_ready(&mut fds, None)?;
        let is_gone = fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR);
        if is_gone && !inward.is_empty() {
            return Ok(End::Peer);
        }
    }
}

/// What a step that does not block has done; absent where it would have waited.
fn ready<T>(step: io::Result<T>) -> io::Result<Option<T>> {
    match step {
        Err(error) if is_passing(&error) => Ok(None),
        done => done.map(Some),
    }
}
