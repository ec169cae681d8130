//! Connections whose request is not complete yet, so that none of them delays later ones.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::control::Control;
use crate::datagrams::QUIET;

/// Most connections that are kept; for one more, the oldest is closed.
const KEPT_MAX: usize = 64;

pub struct PartialRequest {
    pub socket: OwnedFd,
    /// The request; complete where [`PendingRequests::whole`] returned it.
    pub request: Vec<u8>,
    pub length: usize,
    pub calls: u64,
}

#[derive(Default)]
pub struct PendingRequests {
    kept: VecDeque<PartialRequest>,
}

impl PendingRequests {
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    pub fn keep(&mut self, partial: PartialRequest, control: &Control) {
        if self.kept.len() == KEPT_MAX
            && let Some(oldest) = self.kept.pop_front()
        {
            control.count_stray(oldest.length);
        }
        self.kept.push_back(partial);
    }

    /// Waits until one of them or one of `others` is readable, for at most [`QUIET`].
    pub fn wait(&self, others: [BorrowedFd; 2]) -> io::Result<()> {
        let files: Vec<BorrowedFd> = others
            .into_iter()
            .chain(self.kept.iter().map(|partial| partial.socket.as_fd()))
            .collect();
        bitcost_sys::process::wait_any(&files, Some(QUIET)).map(drop)
    }

    /// The first connection whose request is complete now. Connections that have ended are closed.
    pub fn whole(&mut self, control: &Control) -> Option<PartialRequest> {
        let mut index = 0;
        while let Some(partial) = self.kept.get_mut(index) {
            match recv(
                &partial.socket,
                &mut partial.request[partial.length..],
                RecvFlags::DONTWAIT,
            ) {
                Ok((length @ 1.., _)) => {
                    partial.length += length;
                    partial.calls += 1;
                    if partial.length == partial.request.len() {
                        return self.kept.remove(index);
                    }
                }
                Err(Errno::AGAIN) => index += 1,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => {
                    control.count_stray(partial.length);
                    drop(self.kept.remove(index));
                }
            }
        }
        None
    }
}
