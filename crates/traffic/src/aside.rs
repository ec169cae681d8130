//! Connections whose request did not come at once, so that none of them keeps out those that come after it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::intake::QUIET;

/// Connections that are kept; for one more the oldest is closed.
const KEPT_MAX: usize = 64;

/// A connection, what has come of its request, and in how many calls.
pub struct Begun {
    /// The connection.
    pub socket: OwnedFd,
    /// The request; whole where [`Aside::whole`] gave it.
    pub request: Vec<u8>,
    /// Bytes that have come.
    pub length: usize,
    /// Receive calls that brought them.
    pub calls: u64,
}

/// Those that are waited for.
#[derive(Default)]
pub struct Aside {
    kept: VecDeque<Begun>,
}

impl Aside {
    /// True where nobody is waited for.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Keeps a connection until the rest of its request has come.
    pub fn keep(&mut self, begun: Begun) {
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(begun);
    }

    /// Waits until one of them has something, or one of these files, or nothing came for [`QUIET`].
    ///
    /// # Errors
    /// The kernel's.
    pub fn wait(&self, others: [BorrowedFd; 2]) -> io::Result<()> {
        let files: Vec<BorrowedFd> =
            others.into_iter().chain(self.kept.iter().map(|begun| begun.socket.as_fd())).collect();
        sys::process::wait_any(&files, Some(QUIET))
    }

    /// The first whose request is whole now. Those that have ended are closed.
    pub fn whole(&mut self) -> Option<Begun> {
        let mut index = 0;
        while let Some(begun) = self.kept.get_mut(index) {
            match recv(&begun.socket, &mut begun.request[begun.length..], RecvFlags::DONTWAIT) {
                Ok((length @ 1.., _)) => {
                    begun.length += length;
                    begun.calls += 1;
                    if begun.length == begun.request.len() {
                        return self.kept.remove(index);
                    }
                }
                Err(Errno::AGAIN) => index += 1,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => drop(self.kept.remove(index)),
            }
        }
        None
    }
}
