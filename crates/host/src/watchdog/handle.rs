//! The agent's side of the watchdog: starting it, writing steps, renewing the lease.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bitcost_sys::process::{end, read_line};
use serde::Serialize;

use super::{Answer, Message, Setup, WATCHDOG_VERB};
use crate::HostError;
use crate::change_set::Journal;
use crate::journal::{Entry, path_here};
use crate::recovery::recover_one;

/// How long the watchdog may take to write a step to disk, or to exit after its input was closed.
/// One that takes longer is killed, and the agent does its work.
const ANSWER: Duration = Duration::from_secs(4);

/// A watchdog. Clones share it. When the last one is dropped, the watchdog exits; what it could not
/// restore, the agent restores.
#[derive(Clone, Debug)]
pub struct Watchdog {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    path: PathBuf,
    pending: u32,
}

impl Watchdog {
    /// Starts a watchdog, `program` run as `host-watchdog`, for the caller's network namespace. It
    /// kills an agent that is silent for the length of `lease`.
    pub fn start(program: &Path, folder: &Path, lease: Duration) -> Result<Watchdog, HostError> {
        let failed = |error: io::Error| {
            HostError::Journal(format!("the watchdog cannot be started: {error}"))
        };
        let mut command = Command::new(program);
        command
            .arg(WATCHDOG_VERB)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let gone = || failed(io::ErrorKind::BrokenPipe.into());
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or_else(gone)?);
        let path = path_here(folder);
        let mut shared = Shared {
            child,
            input,
            output,
            path,
            pending: 0,
        };
        let lease_ms = lease.as_millis() as u64;
        shared.ask(&Setup {
            folder: folder.to_owned(),
            agent_pid: std::process::id(),
            lease_ms,
        })?;
        Ok(Watchdog {
            shared: Arc::new(Mutex::new(shared)),
        })
    }

    /// Whether the watchdog exited although nothing asked it to.
    pub fn is_lost(&self) -> bool {
        // A thread that holds the lock is waiting for an answer, and will notice.
        self.shared
            .try_lock()
            .is_ok_and(|mut shared| !matches!(shared.child.try_wait(), Ok(None)))
    }

    /// Passes on that the controller was heard.
    pub fn renew(&self) {
        // A step in progress renews the lease as well; a lost watchdog is noticed elsewhere.
        if let Ok(mut shared) = self.shared.try_lock() {
            let _ = shared.send(&Message::Renewed);
        }
    }

    /// The number of changes that are not restored yet.
    pub fn pending(&self) -> u32 {
        self.lock().pending
    }

    pub fn journal(&self) -> Box<dyn Journal> {
        Box::new(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Watchdog {
    fn record(&mut self, step: Entry) -> Result<(), HostError> {
        let (is_new, is_settled) = (
            matches!(step, Entry::Intent(_)),
            matches!(step, Entry::Settled(_)),
        );
        let mut shared = self.lock();
        if is_settled {
            shared.pending = shared.pending.saturating_sub(1);
        }
        shared.ask(&Message::Step(Box::new(step)))?;
        shared.pending += u32::from(is_new);
        Ok(())
    }
}

impl Shared {
    fn ask(&mut self, message: &impl Serialize) -> Result<(), HostError> {
        match self.exchange(message) {
            Ok(Answer::Written) => Ok(()),
            Ok(Answer::Refused(reason)) => Err(HostError::Journal(reason)),
            Err(error) => Err(HostError::Journal(format!(
                "the watchdog does not answer: {error}"
            ))),
        }
    }

    fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(message)?;
        bytes.push(b'\n');
        self.input
            .as_mut()
            .ok_or(io::ErrorKind::BrokenPipe)?
            .write_all(&bytes)
    }

    fn exchange(&mut self, message: &impl Serialize) -> io::Result<Answer> {
        self.send(message)?;
        match read_line(&mut self.output, ANSWER) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => {
                self.child.kill()?;
                let why = format!("no answer within {ANSWER:?}; it was killed");
                Err(io::Error::other(why))
            }
            answer => Ok(serde_json::from_str(&answer?)?),
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.input.take());
        end(&mut self.child, ANSWER);
        let ended = self.child.wait();
        if !ended.is_ok_and(|status| status.success()) {
            recover_one(self.path.clone());
        }
    }
}
