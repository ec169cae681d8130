//! The keeper itself: holds the journal, and puts the host back when its agent is gone or silent.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use sys::files::open_regular;

use super::{Answer, Opening, Word};
use crate::change::Outcome;
use crate::journal::{Header, Line, OpenJournal, Refusal, hold, path_here, read, ready};
use crate::recovery::{holder, obstacle, settle};

/// How long an agent whose settings are still in force may take to end.
const AGENT_ENDS: Duration = Duration::from_secs(2);
/// How long a journal that is held is tried again.
const LOOK_AGAIN: Duration = Duration::from_millis(300);
/// How much of the report is read, in bytes.
const REPORT_MOST: u64 = 1 << 20;
/// What an agent has after its lease to say something: the two may have been stopped together, and gone on together.
const LAST_CHANCE: Duration = Duration::from_millis(300);

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
    // An agent that ended before it was watched: that may be another process of its number.
    if sys::process::parent() != opening.agent_pid {
        return Ok(());
    }
    let mut journal = match open(&opening) {
        Ok(journal) => journal,
        Err(reason) => return say(&Answer::Refused(reason)),
    };
    take_down(&mut journal, &mut input, &agent, Duration::from_millis(opening.lease_ms))?;
    if !journal.pending().is_empty() {
        // Nothing may be put back while the agent still changes it.
        let _ = sys::process::wait_readable(&agent, AGENT_ENDS);
    }
    append_report(&opening.folder, &settle(journal, None))
}

/// Writes down what the agent says until nothing more can come, or its lease is lost: then it is killed.
fn take_down(journal: &mut OpenJournal, input: &mut Input, agent: &OwnedFd, lease: Duration) -> io::Result<()> {
    // An agent that is gone hears nothing: what it wrote last still counts.
    let mut told = say(&Answer::Kept);
    loop {
        let step = match input.next(agent, lease)? {
            Heard::Line(line) => match serde_json::from_str::<Word>(&line) {
                Ok(Word::Step(step)) => step,
                Ok(Word::Renewed) | Err(_) => continue,
            },
            Heard::End => return Ok(()),
            Heard::Nothing => {
                // One that has ended since needs no killing.
                let _ = sys::process::kill(agent);
                return Ok(());
            }
        };
        if told.is_err() && matches!(step, Line::Intent(_)) {
            continue;
        }
        let answer = match journal.append(&step) {
            Ok(()) => Answer::Kept,
            Err(error) => Answer::Refused(error.to_string()),
        };
        told = say(&answer);
    }
}

/// Where the keeper, to whom nobody listens any more, says what it left as it was.
fn report_path(folder: &Path) -> PathBuf {
    folder.join("left-as-found.log")
}

/// What keepers of this folder left as it was; empty where nothing was said.
pub fn report(folder: &Path) -> String {
    let mut text = String::new();
    let file = open_regular(&report_path(folder), File::options().read(true));
    // What cannot be read of it is not there: the journals tell what is left to do.
    let _ = file.and_then(|file| file.take(REPORT_MOST).read_to_string(&mut text));
    text
}

fn append_report(folder: &Path, outcomes: &[Outcome]) -> io::Result<()> {
    let unclean: Vec<String> =
        outcomes.iter().filter(|outcome| !outcome.is_clean()).map(|outcome| format!("{outcome}\n")).collect();
    if unclean.is_empty() {
        return Ok(());
    }
    let mut file = open_regular(&report_path(folder), File::options().create(true).append(true))?;
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
    let failed = |error: io::Error| format!("cannot use {}: {error}", path.display());
    if read(&file).map_err(failed)?.is_left() {
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

/// What came from the agent.
enum Heard {
    /// A whole line.
    Line(String),
    /// Nothing more can come.
    End,
    /// Nothing came in time.
    Nothing,
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
    fn next(&mut self, agent: &OwnedFd, lease: Duration) -> io::Result<Heard> {
        while !self.buffer.contains(&b'\n') {
            let is_silent = !sys::process::wait_either(&self.file, agent, lease)?
                && !sys::process::wait_either(&self.file, agent, LAST_CHANCE)?;
            if is_silent {
                return Ok(Heard::Nothing);
            }
            if sys::process::wait_readable(&self.file, Duration::ZERO)? {
                break;
            }
            if sys::process::wait_readable(agent, Duration::ZERO)? {
                return Ok(Heard::End);
            }
        }
        Ok(self.line()?.map_or(Heard::End, Heard::Line))
    }
}
