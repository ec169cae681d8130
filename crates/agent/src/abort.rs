//! Ending a run from outside its thread.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use bitcost_model::protocol::Prepare;
use bitcost_traffic::{Control, Flow, Phase};

/// Ends a run from another thread: a call that blocks on a socket returns once the socket is shut
/// down.
#[derive(Clone)]
pub struct Abort {
    /// The control of each flow, by part.
    pub controls: Arc<[Vec<Arc<Control>>]>,
    sockets: Arc<Mutex<Vec<OwnedFd>>>,
    /// True for a run that was ended from outside, which then reports nothing.
    pub stopped: Arc<AtomicBool>,
}

impl Abort {
    /// The abort of a run whose flows have no sockets yet.
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

    /// Keeps a second handle of a flow's socket.
    pub fn hold(&self, flow: &dyn Flow) -> Result<(), String> {
        let handle = flow
            .handle()
            .map_err(|error| format!("keep a handle of the socket: {error}"))?;
        self.sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(handle);
        Ok(())
    }

    /// Aborts every flow and shuts its socket down.
    pub fn stop_traffic(&self) {
        self.controls
            .iter()
            .flatten()
            .for_each(|control| control.enter(Phase::Abort));
        for socket in self
            .sockets
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .iter()
        {
            // Fails on a socket that is no longer connected, which needs no shutdown.
            let _ = bitcost_sys::socket::shutdown(socket);
        }
    }
}
