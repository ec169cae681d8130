//! The watchdog process: holds the journal, and restores the host when its agent is gone or silent.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bitcost_sys::files::open_regular;

use super::{Answer, Message, Setup};
use crate::change::Outcome;
use crate::journal::{Entry, Header, OpenJournal, Refusal, hold, path_here, read, ready};
use crate::recovery::{check_restored, owner, settle};

/// How long an agent whose settings are still in effect may take to exit.
const AGENT_ENDS: Duration = Duration::from_secs(2);
/// How long locking a journal that another process holds is retried.
const RETRY: Duration = Duration::from_millis(300);
/// The most of the report that is read, in bytes.
const REPORT_MOST: u64 = 1 << 20;
/// How long an agent may stay silent after its lease: both processes may have been stopped, and
/// continued, together.
const LAST_CHANCE: Duration = Duration::from_millis(300);

/// Runs the watchdog, in the network namespace of its agent.
///
/// The caller must make sure that no signal but SIGKILL ends the process.
pub fn main() -> ExitCode {
    match watch() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn watch() -> io::Result<()> {
    let mut input = Input::new()?;
    let setup: Setup = serde_json::from_str(&input.line()?.unwrap_or_default())?;
    let agent = bitcost_sys::process::watch(setup.agent_pid)?;
    // The agent exited before it was watched: its process id may belong to another process by now.
    if bitcost_sys::process::parent() != setup.agent_pid {
        return Ok(());
    }
    let mut journal = match open(&setup) {
        Ok(journal) => journal,
        Err(reason) => return answer(&Answer::Refused(reason)),
    };
    record(
        &mut journal,
        &mut input,
        &agent,
        Duration::from_millis(setup.lease_ms),
    )?;
    if !journal.pending().is_empty() {
        // Nothing may be restored while the agent may still change it.
        let _ = bitcost_sys::process::wait_readable(&agent, AGENT_ENDS);
    }
    append_report(&setup.folder, &settle(journal, None))
}

/// Writes the steps of the agent to the journal until its input ends, or its lease expires: then
/// the agent is killed.
fn record(
    journal: &mut OpenJournal,
    input: &mut Input,
    agent: &OwnedFd,
    lease: Duration,
) -> io::Result<()> {
    // An agent that is gone reads no answer: the step that it wrote last still counts.
    let mut answered = answer(&Answer::Written);
    loop {
        let step = match input.next(agent, lease)? {
            Heard::Line(line) => match serde_json::from_str::<Message>(&line) {
                Ok(Message::Step(step)) => step,
                Ok(Message::Renewed) | Err(_) => continue,
            },
            Heard::End => return Ok(()),
            Heard::Nothing => {
                // This fails only when it has exited since.
                let _ = bitcost_sys::process::kill(agent);
                return Ok(());
            }
        };
        if answered.is_err() && matches!(step, Entry::Intent(_)) {
            continue;
        }
        let written = match journal.append(&step) {
            Ok(()) => Answer::Written,
            Err(error) => Answer::Refused(error.to_string()),
        };
        answered = answer(&written);
    }
}

/// The file in which a watchdog, whose agent is gone, reports what it could not restore.
fn report_path(folder: &Path) -> PathBuf {
    folder.join("left-as-found.log")
}

/// The report of the watchdogs of this folder on what they could not restore; empty when there is
/// nothing to report.
pub fn report(folder: &Path) -> String {
    let mut text = String::new();
    let file = open_regular(&report_path(folder), File::options().read(true));
    // A report that cannot be read is empty: the journals have what is left to restore.
    let _ = file.and_then(|file| file.take(REPORT_MOST).read_to_string(&mut text));
    text
}

fn append_report(folder: &Path, outcomes: &[Outcome]) -> io::Result<()> {
    let unclean: Vec<String> = outcomes
        .iter()
        .filter(|outcome| !outcome.is_clean())
        .map(|outcome| format!("{outcome}\n"))
        .collect();
    if unclean.is_empty() {
        return Ok(());
    }
    let mut file = open_regular(
        &report_path(folder),
        File::options().create(true).append(true),
    )?;
    file.write_all(unclean.concat().as_bytes())
}

fn open(setup: &Setup) -> Result<OpenJournal, String> {
    ready(&setup.folder)?;
    check_restored(&setup.folder)?;
    let path = path_here(&setup.folder);
    let deadline = Instant::now() + RETRY;
    let held = loop {
        match hold(&path, true) {
            // A process that only lists journals releases the lock at once.
            Err(Refusal::Held) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(10))
            }
            held => break held,
        }
    };
    let file = match held {
        Ok(file) => file,
        Err(Refusal::Held) => {
            return Err(format!(
                "this host is held by {}; wait until it ends",
                owner(&path)
            ));
        }
        Err(Refusal::Failed(why)) => return Err(why),
    };
    let failed = |error: io::Error| format!("cannot use {}: {error}", path.display());
    if read(&file).map_err(failed)?.is_left() {
        return Err(
            "an earlier run left settings of this host changed; restore them: bitcost host restore"
                .to_owned(),
        );
    }
    OpenJournal::start(file, path.clone(), &Header::now(setup.agent_pid)).map_err(failed)
}

fn answer(answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    let mut output = io::stdout().lock();
    output.write_all(&line)?;
    output.flush()
}

/// The input that arrived from the agent.
enum Heard {
    Line(String),
    End,
    /// Nothing arrived in time.
    Nothing,
}

/// Standard input, line by line, with the start of a line that is incomplete.
struct Input {
    file: File,
    buffer: Vec<u8>,
}

impl Input {
    fn new() -> io::Result<Input> {
        let file = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Input {
            file,
            buffer: Vec::new(),
        })
    }

    /// The next whole line; `None` at the end. A last line without a newline was never answered,
    /// and is ignored.
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

    /// As [`Input::line`]; the input also ends with the agent's process, once it is read to its
    /// end.
    fn next(&mut self, agent: &OwnedFd, lease: Duration) -> io::Result<Heard> {
        while !self.buffer.contains(&b'\n') {
            let files = [self.file.as_fd(), agent.as_fd()];
            let wait = |time| bitcost_sys::process::wait_any(&files, Some(time));
            if !wait(lease)? && !wait(LAST_CHANCE)? {
                return Ok(Heard::Nothing);
            }
            if bitcost_sys::process::wait_readable(&self.file, Duration::ZERO)? {
                break;
            }
            if bitcost_sys::process::wait_readable(agent, Duration::ZERO)? {
                return Ok(Heard::End);
            }
        }
        Ok(self.line()?.map_or(Heard::End, Heard::Line))
    }
}
