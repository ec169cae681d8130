//! The keeper as its agent sees it.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use super::{Answer, KEEPER_VERB, Opening, Word};
use crate::HostError;
use crate::change::Change;
use crate::held::Journal;
use crate::journal::{Line, path_here};
use crate::recovery::recover_one;

/// How long the keeper may take to write a step to the disk, or to end after its agent has let go. One that takes
/// longer is killed, and the agent does its work.
const ANSWER: Duration = Duration::from_secs(4);

/// A keeper. Clones share it. When the last one is dropped the keeper ends; what it could not do then, the agent does.
#[derive(Clone, Debug)]
pub struct Keeper {
    shared: Arc<Mutex<Shared>>,
}

#[derive(Debug)]
struct Shared {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    path: PathBuf,
    pending: u32,
}

impl Keeper {
    /// Starts a keeper, `program` run as `host-keeper`, for the caller's network namespace. An agent from which it
    /// hears nothing for the length of `lease` is killed.
    ///
    /// # Errors
    /// When the host is held by another, has changes of an earlier run, or the folder cannot be used.
    pub fn start(program: &Path, folder: &Path, lease: Duration) -> Result<Keeper, HostError> {
        let failed = |error: io::Error| HostError::Journal(format!("the keeper cannot be started: {error}"));
        let mut command = Command::new(program);
        command.arg(KEEPER_VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let gone = || failed(io::ErrorKind::BrokenPipe.into());
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or_else(gone)?);
        let path = path_here(folder);
        let mut shared = Shared { child, input, output: BufReader::new(output), path, pending: 0 };
        let lease_ms = lease.as_millis() as u64;
        shared.ask(&Opening { folder: folder.to_owned(), agent_pid: std::process::id(), lease_ms })?;
        Ok(Keeper { shared: Arc::new(Mutex::new(shared)) })
    }

    /// Whether the keeper has ended, though nobody told it to.
    pub fn is_lost(&self) -> bool {
        // Whoever has it at the moment waits for its answer, and will see.
        self.shared.try_lock().is_ok_and(|mut shared| !matches!(shared.child.try_wait(), Ok(None)))
    }

    /// Passes on that the controller was heard.
    pub fn renew(&self) {
        // A step that is under way tells the same; a keeper that is gone is noticed elsewhere.
        if let Ok(mut shared) = self.shared.try_lock() {
            let _ = shared.say(&Word::Renewed);
        }
    }

    /// How many changes could not be taken back yet.
    pub fn pending(&self) -> u32 {
        self.lock().pending
    }

    /// Where changes are written down.
    pub fn journal(&self) -> Box<dyn Journal> {
        Box::new(self.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Keeper {
    fn intend(&mut self, change: &Change) -> Result<(), HostError> {
        let mut shared = self.lock();
        shared.ask(&Word::Step(Line::Intent(change.clone())))?;
        shared.pending += 1;
        Ok(())
    }

    fn made(&mut self, change: &Change) -> Result<(), HostError> {
        self.lock().ask(&Word::Step(Line::Made(change.clone())))
    }

    fn settled(&mut self, number: u32) -> Result<(), HostError> {
        let mut shared = self.lock();
        shared.pending = shared.pending.saturating_sub(1);
        shared.ask(&Word::Step(Line::Settled(number)))
    }
}

impl Shared {
    fn ask(&mut self, words: &impl Serialize) -> Result<(), HostError> {
        match self.exchange(words) {
            Ok(Answer::Kept) => Ok(()),
            Ok(Answer::Refused(reason)) => Err(HostError::Journal(reason)),
            Err(error) => Err(HostError::Journal(format!("the keeper does not answer: {error}"))),
        }
    }

    fn say(&mut self, words: &impl Serialize) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(words)?;
        bytes.push(b'\n');
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&bytes)
    }

    fn exchange(&mut self, words: &impl Serialize) -> io::Result<Answer> {
        self.say(words)?;
        let deadline = Instant::now() + ANSWER;
        // One answer for each line: nothing of an earlier one is left in the buffer. A signal ends a wait too.
        while !sys::process::wait_readable(self.output.get_ref(), deadline.saturating_duration_since(Instant::now()))? {
            if Instant::now() >= deadline {
                self.child.kill()?;
                return Err(io::Error::other(format!("nothing for {ANSWER:?}; it was ended")));
            }
        }
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + ANSWER;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let ended = self.child.wait();
        if !ended.is_ok_and(|status| status.success()) {
            recover_one(self.path.clone());
        }
    }
}
