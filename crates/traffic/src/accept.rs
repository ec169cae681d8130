//! Accepting the flows that the other endpoint opens: the greetings of all connections are read concurrently, so that
//! a slow or silent client does not delay them.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bitcost_sys::socket::is_passing;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::handshake::{Came, FlowId, GREETING_BYTES, Greeting, Token, opened, time_left};

/// The listen backlog: large enough that foreign connections do not keep out the sender's.
pub const BACKLOG: i32 = 128;

/// Most connections whose greetings are read; for one more, the oldest is closed. The other endpoint sends its
/// greeting at once.
const UNVERIFIED_MAX: usize = 128;

const ACCEPTED_AT_ONCE: usize = 32;

/// The wait after a transient error, such as a lack of descriptors.
const RETRY_DELAY: Duration = Duration::from_millis(5);

struct Unverified {
    stream: TcpStream,
    shown: Greeting,
    length: usize,
}

enum Shown {
    Flow(FlowId),
    Part,
    Other,
}

impl Unverified {
    fn new(stream: TcpStream) -> Unverified {
        Unverified {
            stream,
            shown: [0; GREETING_BYTES],
            length: 0,
        }
    }

    fn read(&mut self, token: &Token) -> Shown {
        while self.length < GREETING_BYTES {
            match recv(
                &self.stream,
                &mut self.shown[self.length..],
                RecvFlags::DONTWAIT,
            ) {
                Ok((0, _)) => return Shown::Other,
                Ok((length, _)) => self.length += length,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Shown::Part,
                Err(_) => return Shown::Other,
            }
        }
        opened(&self.shown, token).map_or(Shown::Other, Shown::Flow)
    }
}

/// A listening socket, and the connections that it has accepted and nobody has taken.
pub struct Accepting {
    pub listener: TcpListener,
    unverified: VecDeque<Unverified>,
    opened: Vec<(FlowId, TcpStream)>,
}

impl Accepting {
    pub fn of(listener: TcpListener) -> io::Result<Accepting> {
        listener.set_nonblocking(true)?;
        Ok(Accepting {
            listener,
            unverified: VecDeque::new(),
            opened: Vec::new(),
        })
    }

    /// The connection that opens this flow. Those without the token are closed, and those of other addresses than `only`,
    /// where there is one, at once. Nothing is sent back: data from the receiver would make its kernel take the connection
    /// for an interactive one and delay acknowledgements (`inet_csk_in_pingpong_mode`).
    ///
    /// # Errors
    /// `ETIMEDOUT` when it does not come before the deadline, and those of the listening socket.
    pub fn take(
        &mut self,
        (token, wanted): (&Token, FlowId),
        only: Option<IpAddr>,
        (deadline, came): (Instant, &mut Came),
    ) -> io::Result<TcpStream> {
        loop {
            if let Some(at) = self.opened.iter().position(|(id, _)| *id == wanted) {
                return Ok(self.opened.swap_remove(at).1);
            }
            let files: Vec<BorrowedFd> = [self.listener.as_fd()]
                .into_iter()
                .chain(self.unverified.iter().map(|one| one.stream.as_fd()))
                .collect();
            bitcost_sys::process::wait_any(&files, Some(time_left(deadline)?))?;
            accept_some(&self.listener, only, &mut self.unverified, came)?;
            self.read_all(token);
            while self.unverified.len() > UNVERIFIED_MAX {
                self.unverified.pop_front();
            }
        }
    }

    /// Reads the greeting of each connection; closes those with other data, and a second one of the same flow.
    fn read_all(&mut self, token: &Token) {
        let mut index = 0;
        while let Some(one) = self.unverified.get_mut(index) {
            let shown = one.read(token);
            if matches!(shown, Shown::Part) {
                index += 1;
                continue;
            }
            let Some(one) = self.unverified.remove(index) else {
                return;
            };
            if let Shown::Flow(id) = shown
                && self.opened.iter().all(|(other, _)| *other != id)
            {
                self.opened.push((id, one.stream));
            }
        }
    }
}

/// Accepts queued connections. Where no descriptor is free, the oldest connection is closed.
fn accept_some(
    listener: &TcpListener,
    only: Option<IpAddr>,
    unverified: &mut VecDeque<Unverified>,
    came: &mut Came,
) -> io::Result<()> {
    for _ in 0..ACCEPTED_AT_ONCE {
        match listener.accept() {
            Ok((_, from)) if !came.note(from.ip(), only) => {}
            Ok((stream, _)) => unverified.push_back(Unverified::new(stream)),
            Err(error) if is_passing(&error) => return Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::INTR | Errno::CONNABORTED) => {}
                Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                    if unverified.pop_front().is_none() {
                        std::thread::sleep(RETRY_DELAY);
                    }
                    return Ok(());
                }
                _ => return Err(error),
            },
        }
    }
    Ok(())
}
