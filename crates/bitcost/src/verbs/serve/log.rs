//! What a server says of its clients, and counts for its last line. A slow reader, a pipe without a reader and a full disk stop no
//! test: a line that is not taken at once is lost.

use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bitcost_model::client_event::ClientEvent;
use bitcost_model::units::counted;
use bitcost_service::message::clean_line;
use bitcost_sys::process::wait_ready;
use rustix::event::{PollFd, PollFlags};

use crate::failure::Failure;

/// The longest line, in letters: a pipe that takes any takes 4096 bytes at once (`PIPE_BUF`, pipe(7)).
const LETTERS_MAX: usize = 1000;

/// Lines about clients that were refused or failed in one second; more clients are only counted.
const MOST_LINES: u32 = 10;

pub struct Log {
    /// Standard output and standard error, without a buffer: what could not be written does not come later.
    output: File,
    error: File,
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
        let output = io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
        let error = io::stderr().as_fd().try_clone_to_owned().map_err(failed)?;
        Ok(Log {
            output: output.into(),
            error: error.into(),
            served: 0,
            refused: 0,
            failed: 0,
            second: Instant::now(),
            said: 0,
            unsaid: 0,
        })
    }

    pub fn result(&self, text: &str) {
        line(&self.output, text);
    }

    pub fn message(&self, text: &str) {
        line(&self.error, text);
    }

    /// Says what a client did, on standard output, or why it was not served, on standard error.
    pub fn tell(&mut self, peer: SocketAddr, event: ClientEvent) {
        let from = format!("{} port {}", peer.ip().to_canonical(), peer.port());
        let what = match event {
            ClientEvent::Begins => return self.result(&format!("{from}: begins")),
            ClientEvent::Served(what) => {
                self.served += 1;
                return self.result(&format!("{from}: {}", clean_line(&what)));
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
            false => self.message(&format!("bitcost: {from}: {}", clean_line(&what))),
        }
    }

    /// Says how many were served, and how many not.
    pub fn finish(self) {
        let mut summary = format!("served {}", counted(self.served, "test"));
        for (count, what) in [(self.refused, "refused"), (self.failed, "failed")] {
            if count > 0 {
                summary += &format!("; {count} {what}");
            }
        }
        self.result(&summary);
    }
}

fn line(mut file: &File, text: &str) {
    let line: String = text.chars().take(LETTERS_MAX).chain(['\n']).collect();
    let mut files = [PollFd::new(&file, PollFlags::OUT)];
    if wait_ready(&mut files, Some(Duration::ZERO)).is_ok_and(|ready| ready) {
        let _ = file.write_all(line.as_bytes());
    }
}
