//! Requests of other threads that a link emulator shape otherwise.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use bitcost_model::shaping::Shaping;

/// What to do in each direction from the next poll on, the seed of the random numbers, and where to say what is then in effect.
type Request = ([Shaping; 2], u64, Sender<[Shaping; 2]>);

#[derive(Clone, Debug)]
pub struct Handle {
    requests: Sender<Request>,
    /// Written to after a request was made: it ends the emulator's sleep.
    bell: Arc<UnixStream>,
}

/// The emulator's own side.
#[derive(Debug)]
pub(super) struct Own {
    pub requests: Receiver<Request>,
    pub bell: UnixStream,
}

impl Handle {
    pub(super) fn new() -> io::Result<(Handle, Own)> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let (sender, requests) = mpsc::channel();
        let own = Own {
            requests,
            bell: heard,
        };
        let handle = Handle {
            requests: sender,
            bell: Arc::new(bell),
        };
        Ok((handle, own))
    }

    /// Has it shape otherwise from the next poll on; packets that the emulator holds keep their times. The
    /// random numbers restart: the same seed gives the n-th packet from now on the same fate. Returns the
    /// shapings by which it then forwards; absent where it has not answered within `limit`.
    pub fn set_and_read(
        &self,
        shapings: [Shaping; 2],
        seed: u64,
        limit: Duration,
    ) -> Option<[Shaping; 2]> {
        let (reply, in_effect) = mpsc::channel();
        self.requests.send((shapings, seed, reply)).ok()?;
        // A bell that cannot be rung again was rung already.
        let _ = (&*self.bell).write(&[0]);
        in_effect.recv_timeout(limit).ok()
    }
}
