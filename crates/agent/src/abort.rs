//! Ending a run from outside its thread.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bitcost_model::protocol::Prepare;
use bitcost_traffic::{Control, Flow, Phase};
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{Shutdown, shutdown};

use crate::refusal::Refusal;

/// The most bytes that an endpoint sends before the data of a run.
const OPENING_BYTES: u64 = 64;

/// A socket of a part of the run.
struct Held {
    part: usize,
    socket: OwnedFd,
}

/// Ends a run from another thread: a call that blocks on a socket returns once the socket is shut
/// down.
#[derive(Clone)]
pub struct Abort {
    pub controls: Arc<[Vec<Arc<Control>>]>,
    sockets: Arc<Mutex<Vec<Held>>>,
    /// True for a run that was ended from outside, which then reports nothing.
    pub stopped: Arc<AtomicBool>,
}

impl Abort {
    pub fn new(prepare: &Prepare) -> Abort {
        let controls = prepare
            .parts
            .iter()
            .map(|part| (0..part.conditions.flows).map(|_| Arc::default()).collect());
        Abort {
            controls: controls.collect(),
            sockets: Arc::default(),
            stopped: Arc::default(),
        }
    }

    pub fn hold(&self, part: usize, flow: &dyn Flow) -> Result<(), Refusal> {
        let socket = flow
            .handle()
            .map_err(|error| format!("duplicate the socket: {error}"))?;
        self.sockets().push(Held { part, socket });
        Ok(())
    }

    fn sockets(&self) -> MutexGuard<'_, Vec<Held>> {
        self.sockets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn moved_bytes(&self) -> u64 {
        let flows = self.controls.iter().flatten();
        flows.map(|control| control.moved_bytes()).sum()
    }

    /// Bytes that the kernel has taken and has not sent, or whose receiver has not acknowledged them.
    pub fn queued_bytes(&self) -> u64 {
        self.queued_bytes_of(|_| true)
    }

    /// The same of the parts for which this is true.
    pub fn queued_bytes_of(&self, is_chosen: impl Fn(usize) -> bool) -> u64 {
        let queued = |held: &Held| bitcost_sys::socket::queued_bytes(&held.socket).unwrap_or(0);
        let sockets = self.sockets();
        let chosen = sockets.iter().filter(|held| is_chosen(held.part));
        chosen.map(|held| u64::from(queued(held))).sum()
    }

    /// Whether nothing but the opening of its connections ever passed, although what came after it was sent again.
    pub fn is_unheard(&self) -> bool {
        let is_silent = |held: &Held| {
            let silent = bitcost_traffic::tcp_info(&held.socket).and_then(|info| {
                let passed = info.bytes_acked?.max(info.bytes_received?);
                let is_sent_again = info.total_retrans? >= 3;
                let only_opens = passed <= OPENING_BYTES;
                Some(only_opens && (is_sent_again || info.data_segs_out? == 0))
            });
            silent == Some(true)
        };
        let sockets = self.sockets();
        !sockets.is_empty() && sockets.iter().all(is_silent)
    }

    pub fn stop_traffic(&self) {
        self.enter_abort(|_| true);
        for held in self.sockets().iter() {
            // Fails on a socket that is no longer connected, which needs no shutdown.
            let _ = shutdown(&held.socket, Shutdown::Both);
        }
    }

    /// Ends these parts, and throws away what their connections still hold.
    pub fn discard(&self, is_chosen: impl Fn(usize) -> bool) {
        self.enter_abort(&is_chosen);
        for held in self.sockets().extract_if(.., |held| is_chosen(held.part)) {
            // Both fail only where the connection has ended.
            let _ = set_socket_linger(&held.socket, Some(Duration::ZERO));
            let _ = shutdown(&held.socket, Shutdown::Both);
        }
    }

    fn enter_abort(&self, is_chosen: impl Fn(usize) -> bool) {
        let parts = self.controls.iter().enumerate();
        parts
            .filter(|(part, _)| is_chosen(*part))
            .flat_map(|(_, controls)| controls)
            .for_each(|control| control.enter(Phase::Abort));
    }
}
