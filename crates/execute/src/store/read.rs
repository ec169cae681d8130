//! Reads a log line by line, complete or truncated; each line is verified before it is used.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bitcost_analysis::findings::LogPlace;
use bitcost_model::Invalid;
use bitcost_model::at_most::at_most;
use bitcost_model::constants::MachineConstants;
use bitcost_model::event::{EndpointDescription, Event, Events, FORMAT, NamedHosts};
use bitcost_model::imported::ImportedRun;
use bitcost_model::ping::RttCheck;
use bitcost_model::plan::Plan;
use bitcost_model::record::EndpointRecord;
use bitcost_model::study::LabSpec;
use bitcost_study::limits::{
    LINE_BYTES, LINE_VALUES, LONG_LINE_BYTES, LONG_LINE_VALUES, check_line,
};
use sha2::{Digest, Sha256};

use crate::error::ExecuteError;
use crate::store::chain::{Chain, hexadecimal, split};
use crate::store::error::{LOG_NAME, cannot_read};
use crate::store::found::strange;

/// A log on the disk, with the length that it had when it was opened: what is appended later is not
/// read, and neither is another file that took its place.
#[derive(Clone, Debug)]
pub struct LogFile {
    pub folder: PathBuf,
    /// The facts of the file that is read.
    pub facts: Metadata,
    length: u64,
}

const CHUNK: usize = 1 << 18;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    pub lines: usize,
    /// Length of the incomplete line that follows them, in bytes.
    pub incomplete: Option<usize>,
    /// Length of the complete lines, in bytes.
    pub whole_bytes: u64,
    pub(crate) chain: Chain,
}

impl End {
    /// The event of the next line, which ends in a line break, of the log at this path.
    fn event(&mut self, path: &Path, text: &[u8]) -> Result<Event, ExecuteError> {
        self.lines += 1;
        self.whole_bytes += text.len() as u64;
        let line = self.lines;
        if text.starts_with(b"{\"event\":\"execution_began\"") {
            check_format(path, text, line > 1)?;
        }
        let (path, before) = (path.display(), line - 1);
        let event = parse(text).map_err(|error| {
            ExecuteError::Usage(format!(
                "{path}:{line}: not an event of a bitcost log: {error}; {before} lines before it could be read"
            ))
        });
        let what = match split(text) {
            Some(parts) if self.chain.advance(parts) => return event,
            None if line == 1 && event.is_err() => return event,
            Some(_) => "does not match its checksum",
            None => "has no checksum",
        };
        Err(ExecuteError::Usage(format!(
            "{path}:{line}: the log is damaged: this line {what}. It, or a line before it, was changed, removed, moved or added after the log was written. Restore the log from a copy, or keep the lines before it in another folder: head -n {before} {path} >FOLDER/{LOG_NAME}"
        )))
    }
}

/// Checks the format first, so that the error for a log of another one names that and not a strange
/// line.
fn check_format(path: &Path, text: &[u8], is_later: bool) -> Result<(), ExecuteError> {
    #[derive(serde::Deserialize)]
    struct Head {
        format: u32,
    }
    let found = serde_json::from_slice(text).map_or(FORMAT, |Head { format }| format);
    if found == FORMAT && (is_later || split(text).is_some()) {
        return Ok(());
    }
    Err(ExecuteError::Usage(format!(
        "{} is of log format {found} of another build, which was never released, and this bitcost reads format {FORMAT} with checksums alone; `bitcost show --format csv` of the build that wrote it keeps its figures",
        path.display()
    )))
}

/// Opens a log for reading. It must be a regular file, because the sender of the folder may have
/// put a link, a FIFO or a device there.
fn open_regular(path: &Path) -> io::Result<File> {
    bitcost_sys::files::open_regular(path, OpenOptions::new().read(true))
}

/// Reads on to the end of the line, and no further than one byte over `most`.
fn read_line(file: &mut impl BufRead, text: &mut Vec<u8>, most: u64) -> io::Result<()> {
    if text.last() != Some(&b'\n') {
        let room = (most + 1).saturating_sub(text.len() as u64);
        file.take(room).read_until(b'\n', text)?;
    }
    Ok(())
}

impl LogFile {
    /// Finds the log in `folder`; the path may also be that of the log itself.
    pub fn open(folder: &Path) -> Result<LogFile, ExecuteError> {
        let is_no_folder = || folder.symlink_metadata().is_ok_and(|facts| !facts.is_dir());
        let named_log = folder.file_name().is_some_and(|name| name == LOG_NAME) && is_no_folder();
        let folder = match named_log {
            true => folder.parent().unwrap_or(Path::new(".")),
            false => folder,
        };
        let path = folder.join(LOG_NAME);
        let facts = open_regular(&path).and_then(|file| file.metadata());
        let facts =
            facts.map_err(|error| strange(folder).unwrap_or_else(|| cannot_read(&path, &error)))?;
        Ok(LogFile::written(folder, facts))
    }

    /// The log in `folder`, which was just written.
    pub(super) fn written(folder: &Path, facts: Metadata) -> LogFile {
        LogFile {
            folder: folder.to_owned(),
            length: facts.len(),
            facts,
        }
    }

    /// Only the first `length` bytes are read.
    #[must_use]
    pub fn up_to(self, length: u64) -> LogFile {
        LogFile { length, ..self }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join(LOG_NAME)
    }

    /// Passes on each line with its line break, one at a time, and what follows the last line break.
    fn lines(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<(), ExecuteError>,
    ) -> Result<(), ExecuteError> {
        let fail = |error: io::Error| cannot_read(&self.path(), &error);
        let file = open_regular(&self.path()).map_err(fail)?;
        let identity = |facts: &Metadata| (facts.dev(), facts.ino());
        if identity(&file.metadata().map_err(fail)?) != identity(&self.facts) {
            return Err(fail(io::Error::other(
                "another file took its place while it was read",
            )));
        }
        let mut file = BufReader::with_capacity(CHUNK, file.take(self.length));
        let mut text = Vec::new();
        loop {
            text.clear();
            let mut most = LINE_BYTES;
            read_line(&mut file, &mut text, most).map_err(fail)?;
            if is_long(&text) {
                most = LONG_LINE_BYTES;
                read_line(&mut file, &mut text, most).map_err(fail)?;
            }
            if text.is_empty() {
                return Ok(());
            }
            if text.len() as u64 > most {
                return Err(fail(io::Error::other(format!(
                    "a line has over {most} bytes, which is the most of such a line of a log"
                ))));
            }
            take(&text)?;
        }
    }

    /// Verifies each complete line and passes on its event with the line's number from 1, holding
    /// one line at a time.
    pub fn read(&self, take: &mut dyn FnMut(usize, Event)) -> Result<End, ExecuteError> {
        let (path, mut end) = (self.path(), End::default());
        self.lines(|text| {
            if text.last() != Some(&b'\n') {
                end.incomplete = Some(text.len());
                return Ok(());
            }
            let most = [LINE_VALUES, LONG_LINE_VALUES][usize::from(is_long(text))];
            let checked = check_line(text, most).map_err(|Invalid(why)| io::Error::other(why));
            checked.map_err(|error| cannot_read(&path, &error))?;
            let event = end.event(&path, text)?;
            take(end.lines, event);
            Ok(())
        })?;
        Ok(end)
    }

    pub fn place(&self) -> LogPlace {
        LogPlace {
            path: self.path(),
            bytes: self.length,
        }
    }

    /// Length of the log in bytes and its SHA-256 in hexadecimal.
    pub fn fingerprint(&self) -> Result<(u64, String), ExecuteError> {
        let (mut hash, mut bytes) = (Sha256::new(), 0);
        self.lines(|text| {
            hash.update(text);
            bytes += text.len() as u64;
            Ok(())
        })?;
        Ok((bytes, hexadecimal(&hash.finalize())))
    }
}

/// The lines were verified when the log was read first ([`LogFile::read`]), and are not verified
/// again. If the log changed since then, lines that are no longer events are left out.
impl Events for LogFile {
    fn each(&self, wanted: &dyn Fn(u32) -> bool, take: &mut dyn FnMut(usize, &Event)) {
        let mut line = 0;
        // A log that can no longer be read has no more events.
        let _ = self.lines(|text| {
            line += 1;
            let is_whole = text.last() == Some(&b'\n');
            let is_wanted = run_of_result(text).is_none_or(wanted);
            if is_whole && is_wanted {
                parse(text).iter().for_each(|event| take(line, event));
            }
            Ok(())
        });
    }
}

macro_rules! begin {
    ($name:literal) => {
        concat!("{\"event\":\"", $name, "\",")
    };
}

/// The first bytes of a line with the records of a run, with the figures of another program's, and with the records of a
/// profiled one.
const RESULTS: [&str; 3] = [
    concat!(begin!("run_ended"), "\"run\":"),
    concat!(begin!("run_imported"), "\"run\":"),
    concat!(begin!("run_profiled"), "\"run\":"),
];

/// Kinds of events that may be long, with their fields. A line that begins as one of them is parsed into the fields
/// directly; an event of any other kind is first parsed into a tree of values, which takes twice the time and many times
/// the memory of the text.
macro_rules! long {
    ($($name:literal $kind:ident { $($(#[$of:meta])? $field:ident: $type:ty),* })*) => {
        fn is_long(text: &[u8]) -> bool {
            [$(begin!($name)),*].iter().any(|begin| text.starts_with(begin.as_bytes()))
        }

        fn parse(text: &[u8]) -> serde_json::Result<Event> {
            $(
                if text.starts_with(begin!($name).as_bytes()) {
                    #[derive(serde::Deserialize)]
                    struct Fields {
                        $($(#[$of])? $field: $type),*
                    }
                    let Fields { $($field),* } = serde_json::from_slice(text)?;
                    return Ok(Event::$kind { $($field),* });
                }
            )*
            serde_json::from_slice(text)
        }
    };
}

long! {
    "execution_began" ExecutionBegan {
        format: u32, bitcost_version: String, at: String, command_line: Vec<String>, study: String, study_text: String,
        lab_text: Option<String>
    }
    "planned" Planned { plan: Plan }
    "prepared" Prepared {
        lab: Option<Box<LabSpec>>, #[serde(deserialize_with = "at_most::<20_000, _, _>")] endpoints: Vec<EndpointDescription>, shared_cpus: bool, #[serde(default)] notes: Vec<String>,
        hosts: Option<NamedHosts>, rtt: Option<RttCheck>
    }
    "constants" Constants { #[serde(deserialize_with = "at_most::<20_000, _, _>")] machines: Vec<MachineConstants> }
    "run_ended" RunEnded {
        run: u32, start_uncertainty_us: f64, interrupted: Option<String>, sender: Box<EndpointRecord>,
        receiver: Box<EndpointRecord>
    }
    "run_profiled" RunProfiled {
        run: u32, start_uncertainty_us: f64, sender: Box<EndpointRecord>, receiver: Box<EndpointRecord>
    }
    "run_imported" RunImported { run: u32, imported: Box<ImportedRun> }
}

/// The number of the run whose result a line holds.
fn run_of_result(text: &[u8]) -> Option<u32> {
    let mut begins = RESULTS.iter();
    let rest = begins.find_map(|begin| text.strip_prefix(begin.as_bytes()))?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()
}
