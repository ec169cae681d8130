//! What a server says of its clients, and counts for its last line. A separate thread prints it: a slow reader, a pipe without a
//! reader and a full disk stop no test.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};

use bitcost_model::client_event::ClientEvent;
use bitcost_model::units::counted;
use bitcost_model::{harmless, harmless_page};

use crate::failure::Failure;

/// Lines that may wait to be printed; more are not printed.
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
    served: usize,
    refused: usize,
    failed: usize,
    /// When the present second of lines about the last two began, its lines, and clients without a line.
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
        std::thread::Builder::new()
            .spawn(move || {
                let _running = running;
                print([output.into(), error.into()], &to_print);
            })
            .map_err(failed)?;
        Ok(Log {
            lines,
            done,
            served: 0,
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
        let _ = self.lines.try_send((is_error, text));
    }

    /// Says what a client did, on standard output, or why it was not served, on standard error.
    pub fn tell(&mut self, peer: SocketAddr, event: ClientEvent) {
        let from = format!("{} port {}", peer.ip().to_canonical(), peer.port());
        let what = match event {
            ClientEvent::Begins => return self.result(&format!("{from}: begins")),
            ClientEvent::Served(what) => {
                self.served += 1;
                return self.result(&format!("{from}: {}", harmless(&what)));
            }
            ClientEvent::Refused(why) => {
                self.refused += 1;
                format!("refused: {why}")
            }
            ClientEvent::Failed(why) => {
                self.failed += 1;
                why
            }
        };
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
            false => self.message(&format!("bitcost: {from}: {}", harmless(&what))),
        }
    }

    /// Says how many were served, and how many not, and waits until everything is printed, for at most a second.
    pub fn finish(self) {
        let mut summary = format!("served {}", counted(self.served, "test"));
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

/// Prints lines to standard output and standard error until there are no more. What cannot be printed is lost.
fn print(mut outputs: [File; 2], lines: &Receiver<Line>) {
    for (is_error, line) in lines {
        let file = &mut outputs[usize::from(is_error)];
        let _ = match file.is_terminal() {
            true => file.write_all(harmless_page(&line).as_bytes()),
            false => file.write_all(line.as_bytes()),
        };
    }
}
