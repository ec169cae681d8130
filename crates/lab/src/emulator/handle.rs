//! What the thread of a link emulator shares with other threads: its counters, and requests for other settings.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::emulator::counters::Counters;
use crate::emulator::settings::Settings;

#[derive(Clone, Debug, Default)]
pub struct Report {
    /// From the first device to the second, and in the other direction.
    pub directions: [Counters; 2],
    /// CPU time of the emulator's thread, in ns, including the kernel's receive work during its
    /// send calls.
    pub cpu_ns: u64,
    /// The rate that each direction keeps now, in bit/s; absent without one.
    pub rates_bps: [Option<u64>; 2],
}

#[derive(Debug)]
struct Shared {
    report: Report,
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
                report: Report::default(),
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

    /// The counters; they are at most 10 ms old.
    pub fn report(&self) -> Report {
        self.common.lock().report.clone()
    }

    /// Applies other settings from the next poll on; packets that it holds keep their times. The
    /// random numbers restart: the same seed gives the n-th packet from now on the same fate.
    pub fn set(&self, settings: [Settings; 2], seed: u64) {
        self.common.lock().request = Some((settings, seed));
        // A bell that cannot be rung again was rung already, and one without an emulator wakes none.
        let _ = (&*self.bell).write(&[0]);
    }

    /// As [`Handle::set`], and waits at most for `limit` until the emulator forwards by the latest
    /// request. Returns the settings by which it then forwards.
    pub fn set_and_read(
        &self,
        settings: [Settings; 2],
        seed: u64,
        limit: Duration,
    ) -> [Settings; 2] {
        self.set(settings, seed);
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

    pub(super) fn report(&self, change: impl FnOnce(&mut Report)) {
        change(&mut self.common.lock().report);
    }
}

impl AsFd for Own {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
