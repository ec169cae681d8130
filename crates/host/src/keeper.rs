//! The keeper: a process that holds the journal of an agent, and puts the host back when the agent is gone.
//!
//! The agent writes each step to the keeper's standard input and waits for the word that it is on the disk.
//! When the input ends, or the agent's process does, the keeper takes back what is pending, and ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::HostError;
use crate::change::{Change, Outcome};
use crate::held::Journal;
use crate::journal::{Header, Line, OpenJournal, Refusal, hold, path_here, read, ready};
use crate::recovery::{holder, obstacle, recover_one, settle};

/// The hidden verb with which the program must call [`main`].
pub const KEEPER_VERB: &str = "host-keeper";
/// How long an agent that closed its journal with changes pending may take to end.
const AGENT_ENDS: Duration = Duration::from_secs(2);
/// How long a journal that is held is tried again.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// How long the keeper may take to end after its agent has let go.
const EXIT_LIMIT: Duration = Duration::from_secs(6);

/// What the keeper says after each line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Answer {
    /// It is on the disk.
    Kept,
    /// Why not.
    Refused(String),
}

/// The keeper's first line.
#[derive(Debug, Serialize, Deserialize)]
struct Opening {
    folder: PathBuf,
    agent_pid: u32,
}

/// Runs the keeper, in the network namespace of its agent.
///
/// The caller sees to it that no signal but SIGKILL ends the process.
pub fn main() -> ExitCode {
    match keep() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn keep() -> io::Result<()> {
    let mut input = Input::new()?;
    let opening: Opening = serde_json::from_str(&input.line()?.unwrap_or_default())?;
    let agent = sys::process::watch(opening.agent_pid)?;
    let mut journal = match open(&opening) {
        Ok(journal) => journal,
        Err(reason) => return say(&Answer::Refused(reason)),
    };
    let mut told = say(&Answer::Kept);
    // An agent that is gone hears nothing: what it wrote last still counts.
    while let Some(line) = input.line_or_end(&agent)? {
        let Ok(step) = serde_json::from_str::<Line>(&line) else { continue };
        if told.is_err() && matches!(step, Line::Intent(_)) {
            continue;
        }
        let answer = match journal.append(&step) {
            Ok(()) => Answer::Kept,
            Err(error) => Answer::Refused(error.to_string()),
        };
        told = say(&answer);
    }
    if !journal.pending().is_empty() {
        // Nothing may be put back while the agent still changes it.
        let _ = sys::process::wait_readable(&agent, AGENT_ENDS);
    }
    report(&opening.folder, &settle(journal, None))
}

/// Where the keeper, to whom nobody listens any more, says what it left as it was.
pub fn report_path(folder: &Path) -> PathBuf {
    folder.join("left-as-found.log")
}

fn report(folder: &Path, outcomes: &[Outcome]) -> io::Result<()> {
    let unclean: Vec<String> =
        outcomes.iter().filter(|outcome| !outcome.is_clean()).map(|outcome| format!("{outcome}\n")).collect();
    if unclean.is_empty() {
        return Ok(());
    }
    let mut file = File::options().create(true).append(true).open(report_path(folder))?;
    file.write_all(unclean.concat().as_bytes())
}

fn open(opening: &Opening) -> Result<OpenJournal, String> {
    ready(&opening.folder)?;
    if let Some(reason) = obstacle(&opening.folder) {
        return Err(reason);
    }
    let path = path_here(&opening.folder);
    let deadline = Instant::now() + LOOK_AGAIN;
    let held = loop {
        match hold(&path, true) {
            // Somebody who only looks lets go at once.
            Err(Refusal::Held) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(10)),
            held => break held,
        }
    };
    let file = match held {
        Ok(file) => file,
        Err(Refusal::Held) => return Err(format!("this host is held by {}; wait until it ends", holder(&path))),
        Err(Refusal::Failed(why)) => return Err(why),
    };
    let failed = |error: io::Error| format!("cannot write {}: {error}", path.display());
    if read(&file).is_ok_and(|contents| !contents.pending.is_empty()) {
        return Err("an earlier run left settings of this host changed; put them back: bitcost host restore".to_owned());
    }
    OpenJournal::begin(file, path.clone(), &Header::now(opening.agent_pid)).map_err(failed)
}

fn say(answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}

/// Standard input, line by line, with what is not a whole line yet.
struct Input {
    file: File,
    buffer: Vec<u8>,
}

impl Input {
    fn new() -> io::Result<Input> {
        let file = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Input { file, buffer: Vec::new() })
    }

    /// The next whole line; `None` at the end. A last line without an end was never answered, and does not count.
    fn line(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.buffer.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            let mut bytes = [0; 16 << 10];
            match self.file.read(&mut bytes) {
                Ok(0) => return Ok(None),
                Ok(length) => self.buffer.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// As [`Input::line`]; the end of the agent's process is the end of the input, once it has nothing more.
    fn line_or_end(&mut self, agent: &impl AsFd) -> io::Result<Option<String>> {
        if !self.buffer.contains(&b'\n') {
            sys::process::wait_either(&self.file, agent)?;
            if !sys::process::wait_readable(&self.file, Duration::ZERO)? {
                let is_gone = sys::process::wait_readable(agent, Duration::ZERO)?;
                return if is_gone { Ok(None) } else { self.line() };
            }
        }
        self.line()
    }
}

/// The keeper as its agent sees it. Clones share it; dropping the last one lets it end.
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
    /// Starts a keeper, `program` run as `host-keeper`, for the caller's network namespace.
    ///
    /// # Errors
    /// When the host is held by another, has changes of an earlier run, or the folder cannot be used.
    pub fn start(program: &Path, folder: &Path) -> Result<Keeper, HostError> {
        let failed = |error: io::Error| HostError::Journal(format!("the keeper cannot be started: {error}"));
        let mut command = Command::new(program);
        command.arg(KEEPER_VERB).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        let gone = || failed(io::ErrorKind::BrokenPipe.into());
        let (input, output) = (child.stdin.take(), child.stdout.take().ok_or_else(gone)?);
        let path = path_here(folder);
        let mut shared = Shared { child, input, output: BufReader::new(output), path, pending: 0 };
        shared.ask(&Opening { folder: folder.to_owned(), agent_pid: std::process::id() })?;
        Ok(Keeper { shared: Arc::new(Mutex::new(shared)) })
    }

    /// The process id of the keeper.
    pub fn pid(&self) -> u32 {
        self.lock().child.id()
    }

    /// Whether the keeper has ended, though nobody told it to.
    pub fn is_lost(&self) -> bool {
        !matches!(self.lock().child.try_wait(), Ok(None))
    }

    /// How many changes could not be taken back yet.
    pub fn pending(&self) -> u32 {
        self.lock().pending
    }

    /// Where changes are written down.
    pub fn journal(&self) -> Box<dyn Journal> {
        Box::new(self.clone())
    }

    /// After the keeper was lost and everything was taken back: clears its journal.
    pub fn take_over(&self) {
        let path = self.lock().path.clone();
        recover_one(path);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Journal for Keeper {
    fn intend(&mut self, change: &Change) -> Result<(), HostError> {
        let mut shared = self.lock();
        shared.ask(&Line::Intent(change.clone()))?;
        shared.pending += 1;
        Ok(())
    }

    fn made(&mut self, change: &Change) -> Result<(), HostError> {
        self.lock().ask(&Line::Made(change.clone()))
    }

    fn settled(&mut self, number: u32) -> Result<(), HostError> {
        let mut shared = self.lock();
        shared.pending = shared.pending.saturating_sub(1);
        shared.ask(&Line::Settled(number))
    }
}

impl Shared {
    fn ask(&mut self, line: &impl Serialize) -> Result<(), HostError> {
        match self.exchange(line) {
            Ok(Answer::Kept) => Ok(()),
            Ok(Answer::Refused(reason)) => Err(HostError::Journal(reason)),
            Err(error) => Err(HostError::Journal(format!("the keeper does not answer: {error}"))),
        }
    }

    fn exchange(&mut self, line: &impl Serialize) -> io::Result<Answer> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?.write_all(&bytes)?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(serde_json::from_str(&answer)?)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        drop(self.input.take());
        let deadline = Instant::now() + EXIT_LIMIT;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
