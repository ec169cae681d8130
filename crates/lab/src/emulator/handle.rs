//! What the thread of a link emulator shares with other threads: requests for other settings.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::emulator::settings::Settings;

#[derive(Debug)]
struct Shared {
    /// Settings to apply at the next poll, with the seed of the random numbers.
    request: Option<([Settings; 2], u64)>,
    in_effect: [Settings; 2],
}

#[derive(Debug)]
struct Common {
    shared: Mutex<Shared>,
    confirmed: Condvar,
}

#[derive(Clone, Debug)]
pub struct Handle {
    common: Arc<Common>,
    /// Written to when there is a request: it ends the emulator's sleep.
    bell: Arc<UnixStream>,
}

#[derive(Debug)]
pub(super) struct Own {
    common: Arc<Common>,
    bell: UnixStream,
}

impl Handle {
    /// The first handle of an emulator with these settings, and its own side.
    pub(super) fn new(settings: [Settings; 2]) -> io::Result<(Handle, Own)> {
        let (bell, heard) = UnixStream::pair()?;
        bell.set_nonblocking(true)?;
        heard.set_nonblocking(true)?;
        let common = Arc::new(Common {
            shared: Mutex::new(Shared {
                request: None,
                in_effect: settings,
            }),
            confirmed: Condvar::new(),
        });
        let own = Own {
            common: common.clone(),
            bell: heard,
        };
        let bell = Arc::new(bell);
        Ok((Handle { common, bell }, own))
    }

    /// Applies other settings from the next poll on; packets that the emulator holds keep their times. The
    /// random numbers restart: the same seed gives the n-th packet from now on the same fate. Waits at most
    /// for `limit` until it forwards by the latest request, and returns the settings by which it then forwards.
    pub fn set_and_read(
        &self,
        settings: [Settings; 2],
        seed: u64,
        limit: Duration,
    ) -> [Settings; 2] {
        self.common.lock().request = Some((settings, seed));
        // A bell that cannot be rung again was rung already, and one without an emulator wakes none.
        let _ = (&*self.bell).write(&[0]);
        let waited =
            self.common
                .confirmed
                .wait_timeout_while(self.common.lock(), limit, |shared| shared.request.is_some());
        let (shared, _) = waited.unwrap_or_else(PoisonError::into_inner);
        shared.in_effect.clone()
    }
}

impl Common {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Own {
    /// The settings that another thread requested, with their seed. They stay requested until they
    /// are confirmed.
    pub(super) fn requested(&mut self) -> Option<([Settings; 2], u64)> {
        self.common.lock().request.as_ref()?;
        // The bell is emptied before the request is taken, so that it rings again for a later one.
        let _ = self.bell.read(&mut [0; 64]);
        self.common.lock().request.clone()
    }

    pub(super) fn confirm(&self, in_effect: [Settings; 2]) {
        let mut shared = self.common.lock();
        let is_latest = |(requested, _): &mut ([Settings; 2], u64)| *requested == in_effect;
        shared.request.take_if(is_latest);
        shared.in_effect = in_effect;
        self.common.confirmed.notify_all();
    }
}

impl AsFd for Own {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
