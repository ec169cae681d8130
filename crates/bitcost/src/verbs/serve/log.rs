//! What a server says of its clients, and counts for its last line. A separate thread prints it: a slow reader, a pipe without a
//! reader and a full disk stop no test. Lines that cannot be printed are counted, and their number is printed once that is possible.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use bitcost_model::units::counted;
use bitcost_model::{harmless, harmless_page};

use crate::failure::Failure;

/// Lines that may wait to be printed.
const WAITING_MAX: usize = 512;

/// The longest line, in letters.
const LETTERS_MAX: usize = 2000;

/// Lines about clients that were refused or failed in one second; more clients are only counted.
const MOST_LINES: u32 = 10;

/// The time for the last lines.
const LAST: Duration = Duration::from_secs(1);

/// A line for standard error, or else for standard output.
type Line = (bool, String);

pub struct Log {
    lines: SyncSender<Line>,
    /// Disconnected once the thread has ended.
    done: Receiver<()>,
    /// Lines that could not be printed, and about which nothing was printed yet.
    unprinted: Arc<AtomicUsize>,
    refused: usize,
    failed: usize,
    /// When the present second of lines about these began, its lines, and clients without a line.
    second: Instant,
    said: u32,
    unsaid: usize,
}

impl Log {
    pub fn start() -> Result<Log, Failure> {
        let failed =
            |error: io::Error| Failure::Environment(format!("cannot print what happens: {error}"));
        // Without a buffer: what could not be written does not come later.
        let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
        let error = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        let (lines, to_print) = sync_channel(WAITING_MAX);
        let (running, done) = channel::<()>();
        let unprinted = Arc::<AtomicUsize>::default();
        let of_thread = unprinted.clone();
        std::thread::Builder::new()
            .spawn(move || {
                let _running = running;
                print([output.into(), error.into()], &to_print, &of_thread);
            })
            .map_err(failed)?;
        Ok(Log {
            lines,
            done,
            unprinted,
            refused: 0,
            failed: 0,
            second: Instant::now(),
            said: 0,
            unsaid: 0,
        })
    }

    pub fn result(&self, text: &str) {
        self.line(false, text);
    }

    pub fn message(&self, text: &str) {
        self.line(true, text);
    }

    fn line(&self, is_error: bool, text: &str) {
        let text = text.chars().take(LETTERS_MAX).chain(['\n']).collect();
        if self.lines.try_send((is_error, text)).is_err() {
            self.unprinted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Says what a client did, on standard output.
    pub fn served(&self, peer: SocketAddr, what: &str) {
        self.result(&format!("{}: {}", from(peer), harmless(what)));
    }

    /// Says what was refused to a client, on standard error.
    pub fn refused(&mut self, peer: SocketAddr, why: impl Display) {
        self.refused += 1;
        self.say(peer, &format!("refused: {why}"));
    }

    /// Says why a client was not served, on standard error.
    pub fn failed(&mut self, peer: SocketAddr, reason: &str) {
        self.failed += 1;
        self.say(peer, reason);
    }

    fn say(&mut self, peer: SocketAddr, what: &str) {
        if self.second.elapsed() >= Duration::from_secs(1) {
            if self.unsaid > 0 {
                let more = counted(self.unsaid, "more client");
                self.message(&format!("bitcost: {more}"));
            }
            (self.second, self.said, self.unsaid) = (Instant::now(), 0, 0);
        }
        self.said += 1;
        match self.said > MOST_LINES {
            true => self.unsaid += 1,
            false => self.message(&format!("bitcost: {}: {}", from(peer), harmless(what))),
        }
    }

    /// Says what was served, and who was not, and waits until everything is printed, for at most a second.
    pub fn finish(self, served: &str) {
        let mut summary = format!("served {served}");
        for (count, what) in [(self.refused, "refused"), (self.failed, "failed")] {
            if count > 0 {
                summary += &format!("; {count} {what}");
            }
        }
        self.result(&summary);
        drop(self.lines);
        let _ = self.done.recv_timeout(LAST);
    }
}

/// Prints lines to standard output and standard error until there are no more.
fn print(mut outputs: [File; 2], lines: &Receiver<Line>, unprinted: &AtomicUsize) {
    for (is_error, line) in lines {
        let file = &mut outputs[usize::from(is_error)];
        let new = unprinted.swap(0, Ordering::Relaxed);
        let notice = format!("bitcost: {} could not be printed\n", counted(new, "line"));
        let mut failed = 0;
        if new > 0 && write(file, &notice).is_err() {
            failed += new;
        }
        if write(file, &line).is_err() {
            failed += 1;
        }
        unprinted.fetch_add(failed, Ordering::Relaxed);
    }
}

fn write(file: &mut File, text: &str) -> io::Result<()> {
    match file.is_terminal() {
        true => file.write_all(harmless_page(text).as_bytes()),
        false => file.write_all(text.as_bytes()),
    }
}

fn from(peer: SocketAddr) -> String {
    format!("{} port {}", peer.ip().to_canonical(), peer.port())
}
