//! Reads a log line by line, complete or truncated; each line is verified before it is used.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use bitcost_analysis::findings::LogPlace;
use bitcost_model::event::{Event, FORMAT, Stored};
use bitcost_model::record::EndpointRecord;
use bitcost_model::units::counted;
use bitcost_study::limits::LINE_BYTES;
use sha2::{Digest, Sha256};

use crate::store::chain::{Chain, split};
use crate::store::error::{LOG_NAME, StoreError};
use crate::store::found::strange;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incomplete {
    pub line: usize,
    pub bytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Damaged {
    #[default]
    Refuse,
    /// The line is left out and its number is kept ([`End::damaged`]).
    LeaveOut,
}

/// A log on the disk, with the length that it had when it was opened: what is appended later is not
/// read.
#[derive(Clone, Debug)]
pub struct LogFile {
    folder: PathBuf,
    length: u64,
    damaged: Damaged,
    /// Numbers of the lines that the first reading left out.
    left_out: BTreeSet<usize>,
}

const NUMBERED: usize = 10;

const CHUNK: usize = 1 << 18;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub lines: usize,
    pub incomplete: Option<Incomplete>,
    /// Length of the complete lines, in bytes.
    pub whole_bytes: u64,
    /// Numbers of the lines that were left out because they could not be verified or read, from 1.
    pub damaged: Vec<usize>,
    pub(crate) chain: Chain,
}

impl End {
    /// Caveats of the log itself, one sentence each.
    pub fn caveats(&self) -> Vec<String> {
        let mut found = Vec::new();
        if !self.damaged.is_empty() {
            let numbers = self.damaged.iter().take(NUMBERED);
            let numbers: Vec<String> = numbers.map(usize::to_string).collect();
            let more = if self.damaged.len() > NUMBERED {
                ", …"
            } else {
                ""
            };
            let lines = counted(self.damaged.len(), "line");
            found.push(format!(
                "the log is damaged: {lines} could not be verified and are left out ({}{more}); their contents are missing",
                numbers.join(", ")
            ));
        }
        found
    }
}

#[derive(Clone, Debug)]
pub struct Log {
    pub folder: PathBuf,
    pub events: Vec<Event>,
    pub end: End,
}

/// Reads the log in `folder` into memory; the path may also be that of the log itself.
pub fn read(folder: &Path) -> Result<Log, StoreError> {
    let mut file = LogFile::open(folder, Damaged::Refuse)?;
    let mut events = Vec::new();
    let end = file.read(&mut |_, event| events.push(event))?;
    Ok(Log {
        folder: file.folder,
        events,
        end,
    })
}

/// Opens a log for reading. It must be a regular file, because the sender of the folder may have
/// put a link, a FIFO or a device there.
fn open_regular(path: &Path) -> std::io::Result<File> {
    bitcost_sys::files::open_regular(path, OpenOptions::new().read(true))
}

impl LogFile {
    /// Finds the log in `folder`; the path may also be that of the log itself.
    pub fn open(folder: &Path, damaged: Damaged) -> Result<LogFile, StoreError> {
        let is_no_folder = || folder.symlink_metadata().is_ok_and(|facts| !facts.is_dir());
        let named_log = folder.file_name().is_some_and(|name| name == LOG_NAME) && is_no_folder();
        let folder = if named_log {
            folder.parent().unwrap_or(Path::new("."))
        } else {
            folder
        };
        let path = folder.join(LOG_NAME);
        let length = open_regular(&path)
            .and_then(|file| file.metadata())
            .map_err(|error| {
                strange(folder).unwrap_or(StoreError::CannotRead {
                    path: path.clone(),
                    error,
                })
            })?
            .len();
        Ok(LogFile {
            folder: folder.to_owned(),
            length,
            damaged,
            left_out: BTreeSet::new(),
        })
    }

    /// The log of `length` bytes in `folder`, which was just written.
    pub fn written(folder: &Path, length: u64) -> LogFile {
        LogFile {
            folder: folder.to_owned(),
            length,
            damaged: Damaged::Refuse,
            left_out: BTreeSet::new(),
        }
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(LOG_NAME)
    }

    /// The bytes that the file had when it was opened.
    fn whole(&self) -> Result<std::io::Take<File>, StoreError> {
        let file = open_regular(&self.path()).map_err(|error| self.cannot_read(error))?;
        Ok(file.take(self.length))
    }

    fn cannot_read(&self, error: std::io::Error) -> StoreError {
        StoreError::CannotRead {
            path: self.path(),
            error,
        }
    }

    /// Verifies each complete line and passes on its event with the line's number from 1, holding
    /// one line at a time.
    ///
    /// # Errors
    /// When the file cannot be read, when it is of another format, and, if damaged lines are
    /// refused, at the first line that does not match its checksum or is no event.
    pub fn read(&mut self, take: &mut dyn FnMut(usize, Event)) -> Result<End, StoreError> {
        let mut lines = Lines::of(self.path());
        let file = self.whole()?;
        let (mut file, mut text) = (BufReader::with_capacity(CHUNK, file), Vec::new());
        loop {
            let bytes = next_line(&mut file, &mut text).map_err(|error| self.cannot_read(error))?;
            if text.last() != Some(&b'\n') {
                lines.end.incomplete = (bytes > 0).then_some(Incomplete {
                    line: lines.end.lines + 1,
                    bytes,
                });
                self.left_out = lines.end.damaged.iter().copied().collect();
                return Ok(lines.end);
            }
            match lines.event(&text) {
                Ok(event) => take(lines.end.lines, event),
                Err(error @ StoreError::OtherFormat { .. }) => return Err(error),
                Err(error) if self.damaged == Damaged::Refuse => return Err(error),
                Err(_) => lines.end.damaged.push(lines.end.lines),
            }
        }
    }

    pub fn place(&self) -> LogPlace {
        LogPlace {
            path: self.path(),
            bytes: self.length,
        }
    }

    /// Length of the log in bytes and its SHA-256 in hexadecimal.
    pub fn fingerprint(&self) -> Result<(u64, String), StoreError> {
        let (mut file, mut hash, mut part) = (self.whole()?, Sha256::new(), vec![0; 1 << 20]);
        let mut bytes = 0;
        loop {
            match file
                .read(&mut part)
                .map_err(|error| self.cannot_read(error))?
            {
                0 => break,
                read => {
                    hash.update(&part[..read]);
                    bytes += read as u64;
                }
            }
        }
        Ok((
            bytes,
            hash.finalize()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        ))
    }
}

/// The lines were verified when the log was read first ([`LogFile::read`]), and are not verified
/// again. If the log changed since then, lines that are no longer events are left out.
impl Stored for LogFile {
    fn each(&self, wanted: &dyn Fn(u32) -> bool, take: &mut dyn FnMut(usize, &Event)) {
        let Ok(file) = self.whole() else { return };
        let (mut file, mut text) = (BufReader::with_capacity(CHUNK, file), Vec::new());
        for line in 1.. {
            if next_line(&mut file, &mut text).is_err() || text.last() != Some(&b'\n') {
                return;
            }
            let is_unwanted = run_of_result(&text).is_some_and(|(run, _)| !wanted(run));
            if is_unwanted || self.left_out.contains(&line) {
                continue;
            }
            if let Ok(event) = parse(&text) {
                take(line, &event);
            }
        }
    }
}

/// Replaces `text` by the next line of a log, and returns its bytes.
///
/// # Errors
/// Also where it is longer than any line of a log.
fn next_line(file: &mut impl BufRead, text: &mut Vec<u8>) -> io::Result<usize> {
    text.clear();
    let bytes = file.take(LINE_BYTES + 1).read_until(b'\n', text)?;
    match bytes as u64 <= LINE_BYTES {
        true => Ok(bytes),
        false => Err(io::Error::other(format!(
            "a line has over {LINE_BYTES} bytes, which is the most of a log's line"
        ))),
    }
}

#[derive(Debug)]
struct Lines {
    path: PathBuf,
    end: End,
}

impl Lines {
    fn of(path: PathBuf) -> Lines {
        Lines {
            path,
            end: End::default(),
        }
    }

    /// The event of the next line, which ends in a line break.
    fn event(&mut self, text: &[u8]) -> Result<Event, StoreError> {
        self.end.lines += 1;
        self.end.whole_bytes += text.len() as u64;
        let line = self.end.lines;
        if text.starts_with(b"{\"event\":\"execution_began\"") {
            self.check_format(text)?;
        }
        let damaged = |what: String| StoreError::Damaged {
            path: self.path.clone(),
            line,
            what,
        };
        let event = parse(text).map_err(|error| StoreError::NotAnEvent {
            path: self.path.clone(),
            line,
            error,
        });
        match split(text) {
            Some(parts) if self.end.chain.advance(parts) => event,
            Some(_) => Err(damaged("does not match its checksum".into())),
            None if line == 1 && event.is_err() => event,
            None => Err(damaged("has no checksum".into())),
        }
    }

    /// Checks the format first, so that the error for a log of another one names that and not a strange
    /// line.
    fn check_format(&self, text: &[u8]) -> Result<(), StoreError> {
        #[derive(serde::Deserialize)]
        struct Head {
            format: u32,
        }
        let found = serde_json::from_slice(text).map_or(FORMAT, |Head { format }| format);
        let has_checksum = self.end.lines > 1 || split(text).is_some();
        if found == FORMAT && has_checksum {
            return Ok(());
        }
        Err(StoreError::OtherFormat {
            path: self.path.clone(),
            found,
        })
    }
}

/// The first bytes of a line with the records of a run.
const ENDED: &[u8] = b"{\"event\":\"run_ended\",\"run\":";

/// The first bytes of a line with the figures of another program's run.
const IMPORTED: &[u8] = b"{\"event\":\"run_imported\",\"run\":";

/// The first bytes of a line with the records of a profiled run.
const PROFILED: &[u8] = b"{\"event\":\"run_profiled\",\"run\":";

/// The fields of [`Event::RunEnded`]. A line that begins with [`ENDED`] is parsed into them
/// directly; an event of any kind is first parsed into a tree of values, which takes twice the
/// time.
#[derive(serde::Deserialize)]
struct Ended {
    run: u32,
    start_uncertainty_us: f64,
    sender: Box<EndpointRecord>,
    receiver: Box<EndpointRecord>,
}

fn parse(text: &[u8]) -> serde_json::Result<Event> {
    if !text.starts_with(ENDED) {
        return serde_json::from_slice(text);
    }
    let Ended {
        run,
        start_uncertainty_us,
        sender,
        receiver,
    } = serde_json::from_slice(text)?;
    Ok(Event::RunEnded {
        run,
        start_uncertainty_us,
        sender,
        receiver,
    })
}

/// The number of the run whose result a line holds, and the line's rest.
fn run_of_result(text: &[u8]) -> Option<(u32, &[u8])> {
    let rest = text
        .strip_prefix(ENDED)
        .or_else(|| text.strip_prefix(IMPORTED))
        .or_else(|| text.strip_prefix(PROFILED))?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = rest.split_at(digits);
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}
