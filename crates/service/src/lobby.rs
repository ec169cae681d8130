//! Takes connections. One that has not said anything has no thread: it waits here, for as long as a
//! client has to prove its key.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};

use crate::channel::{OPENING, failure};
use crate::event::Event;
use crate::opening::{Accepted, gave_way};
use crate::places::Places;
use crate::shared::Shared;
use crate::stream::wait_any;

/// How often it is checked whether to stop.
const LOOK: Duration = Duration::from_millis(100);

/// A pause after a connection that could not be accepted, such as for lack of descriptors.
const PAUSE: Duration = Duration::from_millis(50);

/// Connections that are taken before those that wait are looked at again.
const OF_A_TURN: usize = 64;

/// A connection that has not said anything.
struct Silent {
    socket: TcpStream,
    peer: SocketAddr,
    until: Instant,
}

/// Takes connections until the service is stopped; `start` gets those that have said something.
pub fn receive(listener: &TcpListener, shared: &Shared, mut start: impl FnMut(Accepted)) {
    let mut silent: Places<Silent> = Places::default();
    while !shared.is_stopping() {
        let speaking = match wait(listener, &silent) {
            Ok(speaking) => speaking,
            Err(_failed) => {
                std::thread::sleep(PAUSE);
                Vec::new()
            }
        };
        for descriptor in speaking {
            let found = silent.remove(|silent| silent.socket.as_raw_fd() == descriptor);
            found.and_then(|found| enter(found, shared)).map(&mut start);
        }
        while let Some(late) = silent.remove(|silent| Instant::now() >= silent.until) {
            fail(shared, late.peer, &ErrorKind::TimedOut.into());
        }
        take(listener, &mut silent, shared);
    }
}

/// Waits until a connection is there, or one of these says something; returns the descriptors of
/// these.
fn wait(listener: &TcpListener, silent: &Places<Silent>) -> io::Result<Vec<RawFd>> {
    let mut fds = vec![PollFd::new(listener, PollFlags::IN)];
    fds.extend(
        silent
            .iter()
            .map(|silent| PollFd::new(&silent.socket, PollFlags::IN)),
    );
    wait_any(&mut fds, LOOK)?;
    let speaking = fds[1..].iter().filter(|fd| !fd.revents().is_empty());
    Ok(speaking.map(|fd| fd.as_fd().as_raw_fd()).collect())
}

/// Takes the connections that are there.
fn take(listener: &TcpListener, silent: &mut Places<Silent>, shared: &Shared) {
    for _ in 0..OF_A_TURN {
        let (socket, peer) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return,
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => continue,
            Err(_) => return std::thread::sleep(PAUSE),
        };
        let until = Instant::now() + OPENING;
        let newcomer = Silent {
            socket,
            peer,
            until,
        };
        // What gives way ends unread.
        let (Ok(closed) | Err(closed)) = silent
            .admit(peer.ip(), newcomer, &shared.seen)
            .map_err(Some);
        if let Some(Silent { peer, .. }) = closed {
            let reason = gave_way();
            shared.tell(Event::Failed { peer, reason });
        }
    }
}

/// Gives a connection that says something, and does not only end, its place among those with a
/// thread.
fn enter(silent: Silent, shared: &Shared) -> Option<Accepted> {
    let Silent {
        socket,
        peer,
        until,
    } = silent;
    let peeked = socket
        .set_nonblocking(true)
        .and_then(|()| socket.peek(&mut [0]));
    match peeked {
        Ok(1..) => {}
        Ok(_) => return fail(shared, peer, &ErrorKind::UnexpectedEof.into()),
        Err(error) => return fail(shared, peer, &error),
    }
    let pending = shared.pending.admit(peer.ip(), &socket, &shared.seen);
    if pending.is_none() {
        let reason = gave_way();
        shared.tell(Event::Failed { peer, reason });
    }
    Some(Accepted {
        socket,
        peer,
        until,
        pending: pending?,
    })
}

fn fail(shared: &Shared, peer: SocketAddr, error: &io::Error) -> Option<Accepted> {
    let reason = failure(error);
    shared.tell(Event::Failed { peer, reason });
    None
}
