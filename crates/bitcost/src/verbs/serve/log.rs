//! The lines that a service prints, from a separate thread: a slow reader, a pipe without a reader
//! and a full disk stop no test. Lines that cannot be printed are counted, and their number is
//! printed once that is possible.

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use bitcost_model::harmless_page;
use bitcost_model::units::counted;

use crate::failure::Failure;

/// Lines that may wait to be printed.
const WAITING_MAX: usize = 512;

/// The longest line, in letters.
const LETTERS_MAX: usize = 2000;

/// The time for the last lines.
const LAST: Duration = Duration::from_secs(1);

pub struct Log {
    lines: SyncSender<Line>,
    /// Disconnected once the thread has ended.
    done: Receiver<()>,
    /// Lines that could not be printed, and about which nothing was printed yet.
    unprinted: Arc<AtomicUsize>,
}

struct Line {
    is_error: bool,
    text: String,
}

impl Log {
    pub fn start() -> Result<Log, Failure> {
        let failed =
            |error: io::Error| Failure::Environment(format!("cannot print what happens: {error}"));
        let outputs = Outputs::open().map_err(failed)?;
        let (lines, to_print) = sync_channel(WAITING_MAX);
        let (running, done) = channel();
        let unprinted = Arc::<AtomicUsize>::default();
        let of_thread = unprinted.clone();
        std::thread::Builder::new()
            .spawn(move || outputs.print(&to_print, &of_thread, &running))
            .map_err(failed)?;
        Ok(Log {
            lines,
            done,
            unprinted,
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
        if self.lines.try_send(Line { is_error, text }).is_err() {
            self.unprinted.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until everything is printed, for at most a second.
    pub fn finish(self) {
        drop(self.lines);
        let _ = self.done.recv_timeout(LAST);
    }
}

/// Standard output and standard error, without a buffer: what could not be written does not come
/// later.
struct Outputs {
    output: File,
    error: File,
}

impl Outputs {
    fn open() -> io::Result<Outputs> {
        Ok(Outputs {
            output: io::stdout().as_fd().try_clone_to_owned()?.into(),
            error: io::stderr().as_fd().try_clone_to_owned()?.into(),
        })
    }

    /// Prints lines until there are no more; `_running` is dropped with this.
    fn print(mut self, lines: &Receiver<Line>, unprinted: &AtomicUsize, _running: &Sender<()>) {
        for line in lines {
            let new = unprinted.swap(0, Ordering::Relaxed);
            let notice = format!("bitcost: {} could not be printed\n", counted(new, "line"));
            let mut failed = 0;
            if new > 0 && self.write(line.is_error, &notice).is_err() {
                failed += new;
            }
            if self.write(line.is_error, &line.text).is_err() {
                failed += 1;
            }
            unprinted.fetch_add(failed, Ordering::Relaxed);
        }
    }

    fn write(&mut self, is_error: bool, text: &str) -> io::Result<()> {
        let file = match is_error {
            true => &mut self.error,
            false => &mut self.output,
        };
        match file.is_terminal() {
            true => file.write_all(harmless_page(text).as_bytes()),
            false => file.write_all(text.as_bytes()),
        }
    }
}
