//! The ring itself: submitting requests, waiting for completions.

use std::io;
use std::time::{Duration, Instant};

use io_uring::types::{SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue};

/// An io_uring with what both directions need.
pub struct Ring {
    pub ring: IoUring,
    is_enabled: bool,
    /// Calls of `io_uring_enter`.
    pub enters: u64,
}

impl Ring {
    /// A ring for `depth` requests at a time and `completions` unread completions, which no thread owns yet.
    pub fn new(depth: u32, completions: u32) -> io::Result<Ring> {
        let ring = IoUring::builder()
            .setup_r_disabled()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_taskrun_flag()
            .setup_cqsize(completions)
            .build(depth)?;
        Ok(Ring {
            ring,
            is_enabled: false,
            enters: 0,
        })
    }

    /// Submits what is queued, and waits until `want` completions are available or the time has passed.
    pub fn enter(&mut self, want: usize, patience: Option<Duration>) -> io::Result<()> {
        if !self.is_enabled {
            self.ring.submitter().register_enable_rings()?;
            self.is_enabled = true;
        }
        self.enters += 1;
        match patience {
            Some(patience) => {
                let limit = Timespec::from(patience);
                self.ring
                    .submitter()
                    .submit_with_args(want, &SubmitArgs::new().timespec(&limit))
                    .map(drop)
            }
            None => self.ring.submitter().submit_and_wait(want).map(drop),
        }
    }

    /// Passes every available completion to `take`, and enters the kernel for more, until `take` returns true or the time has
    /// passed.
    pub fn settle(&mut self, patience: Duration, mut take: impl FnMut(&cqueue::Entry) -> bool) {
        let deadline = Instant::now() + patience;
        loop {
            let mut is_done = false;
            for entry in self.ring.completion() {
                is_done |= take(&entry);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if is_done || left.is_zero() {
                return;
            }
            match self.enter(1, Some(left)) {
                Err(error) if !is_passing(&error) => return,
                _ => {}
            }
        }
    }
}

/// True for an error after which the call may be repeated: a signal, a timeout, completions that must be read first.
pub fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EINTR | libc::ETIME | libc::EBUSY | libc::EAGAIN)
    )
}
