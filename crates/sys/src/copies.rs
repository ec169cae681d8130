//! Copies of a process with one thread (fork(2)).

use std::io;
use std::marker::PhantomData;

use crate::outcome::checked;

/// Shows that the process has one thread, so that a copy of it has whatever this one has, and no lock of a thread that the
/// copy lacks. It stays on that thread.
#[derive(Debug)]
pub struct OneThread(PhantomData<*const ()>);

/// Which of the two processes goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Now {
    /// The one that called.
    Original,
    /// Its copy.
    Copy,
}

impl OneThread {
    /// Looks at the threads of this process. Whoever has it starts no threads.
    ///
    /// # Errors
    /// When there are several, or /proc cannot be read.
    pub fn of_process() -> io::Result<OneThread> {
        match std::fs::read_dir("/proc/self/task")?.count() {
            1 => Ok(OneThread(PhantomData)),
            count => Err(io::Error::other(format!("the process has {count} threads"))),
        }
    }

    /// Starts a copy of this process.
    ///
    /// # Errors
    /// `EAGAIN` at a limit of processes, `ENOMEM`.
    pub fn copy(&self) -> io::Result<Now> {
        // SAFETY: the process has one thread, so that in the copy no lock is held by another thread and every value is
        // as consistent as it is here.
        match checked(unsafe { libc::fork() })? {
            0 => Ok(Now::Copy),
            _ => Ok(Now::Original),
        }
    }
}
