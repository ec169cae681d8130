//! The watchdog process: holds the journal, and restores the host when its agent is gone or silent.

use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bitcost_sys::files::open_regular;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

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
    let input = lines();
    let setup: Setup = serde_json::from_str(&input.recv().unwrap_or_default())?;
    let agent = Pid::from_raw(setup.agent_pid.cast_signed()).ok_or(io::ErrorKind::InvalidInput)?;
    let agent = pidfd_open(agent, PidfdFlags::empty())?;
    // The agent exited before it was watched: its process id may belong to another process by now.
    if parent_id() != setup.agent_pid {
        return Ok(());
    }
    let mut journal = match open(&setup) {
        Ok(journal) => journal,
        Err(reason) => return answer(&Answer::Refused(reason)),
    };
    let lease = Duration::from_millis(setup.lease_ms);
    if record(&mut journal, &input, lease) == RecvTimeoutError::Timeout {
        // This fails only when it has exited since.
        let _ = pidfd_send_signal(&agent, Signal::KILL);
    }
    let pending = journal.pending();
    if !pending.is_empty() {
        // Nothing may be restored while the agent may still change it.
        let _ = bitcost_sys::process::wait_readable(&agent, AGENT_ENDS);
    }
    append_report(&setup.folder, &settle(pending, Some(journal), None))
}

/// Writes the steps of the agent to the journal until its input ends, or its lease expires; returns which.
fn record(
    journal: &mut OpenJournal,
    input: &Receiver<String>,
    lease: Duration,
) -> RecvTimeoutError {
    // An agent that is gone reads no answer: the step that it wrote last still counts.
    let mut answered = answer(&Answer::Written);
    loop {
        let heard = input.recv_timeout(lease);
        let line = match heard.or_else(|_| input.recv_timeout(LAST_CHANCE)) {
            Ok(line) => line,
            Err(end) => return end,
        };
        let Ok(Message::Step(step)) = serde_json::from_str(&line) else {
            continue;
        };
        if answered.is_err() && matches!(*step, Entry::Intent(_)) {
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

/// The whole lines of standard input; it is disconnected at their end. A last line without a newline was
/// never answered, and is ignored.
fn lines() -> Receiver<String> {
    let (sender, lines) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let (mut input, mut line) = (io::stdin().lock(), String::new());
        while input.read_line(&mut line).is_ok() && line.ends_with('\n') {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}
