//! The journal: the changes of a host that are not restored yet, on disk, one line per step.
//!
//! A line is the CRC-32 of a JSON text (8 hexadecimal digits, ISO 3309 as in zlib), a space, and
//! that text. The first line is the header; the changes follow as they were intended, made and
//! settled. A last line without a newline was cut off when its writer died, and is ignored. A
//! journal with any other line that fails its checksum is damaged: it is reported and kept.
//!
//! | file | it is |
//! |---|---|
//! | folder | where journals are |
//! | open | a journal that this process holds and writes |

mod folder;
mod open;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use bitcost_sys::namespace::{Kind, is_in};
use serde::{Deserialize, Serialize};

use crate::change::Change;

pub use folder::{SYSTEM_STATE, all, check_private, folder, path_here, ready};
pub use open::{OpenJournal, Refusal, hold};

/// Version of the format.
const FORMAT: u32 = 1;
/// The largest journal that is read, in bytes; one of a run with every setting has some hundred
/// KiB.
const BYTES_MOST: u64 = 16 << 20;

/// The first line: which process changes the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub format: u32,
    pub bitcost: String,
    /// The boot during which it was written (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The network namespace, by its cookie; `None` if the kernel has none.
    pub network: Option<u64>,
    /// Whether that is the initial network namespace of the machine.
    pub is_first_network: bool,
    /// The process id of the agent.
    pub agent_pid: u32,
    /// When it was started, in seconds since 1970.
    pub since_s: u64,
}

/// One line: a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    Header(Header),
    /// A change is about to be made.
    Intent(Change),
    Made(Change),
    /// The change with this number was restored.
    Settled(u32),
}

#[derive(Debug, Clone, Default, Serialize)]
pub struct Contents {
    /// Its header; `None` when it is damaged.
    pub header: Option<Header>,
    /// The changes that are not settled, in the order in which they were made.
    pub pending: Vec<Change>,
    /// A sentence for each part that could not be read.
    pub unread: Vec<String>,
    /// Whether it is damaged or of another format, so that settings may be changed that this
    /// program does not know of. (A line that was cut off was never acknowledged, and so nothing
    /// was changed after it.)
    #[serde(skip)]
    pub hides_changes: bool,
}

impl Contents {
    /// The contents of a journal that could not be read, for this reason.
    pub fn unreadable(why: String) -> Contents {
        let mut contents = Contents::default();
        contents.damaged(why);
        contents
    }

    fn damaged(&mut self, why: String) {
        self.unread.push(why);
        self.hides_changes = true;
    }

    /// Whether there may be something to restore.
    pub fn is_left(&self) -> bool {
        self.hides_changes || !self.pending.is_empty()
    }
}

impl Header {
    /// The header of a journal that is started now, in the caller's network namespace.
    pub fn now(agent_pid: u32) -> Header {
        let since = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .unwrap_or_default();
        Header {
            format: FORMAT,
            bitcost: env!("CARGO_PKG_VERSION").to_owned(),
            boot: boot(),
            network: bitcost_sys::namespace::network_cookie().ok(),
            is_first_network: is_in(Path::new("/proc/1/ns/net"), Kind::Net).unwrap_or(false),
            agent_pid,
            since_s: since.as_secs(),
        }
    }
}

/// The identifier of the present boot; empty when the kernel has none.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .unwrap_or_default()
        .trim()
        .to_owned()
}

/// Reads a journal.
pub fn read(mut file: &File) -> io::Result<Contents> {
    let length = file.metadata()?.len();
    if length > BYTES_MOST {
        return Err(io::Error::other(format!(
            "it has {length} bytes; a journal has at most {BYTES_MOST}"
        )));
    }
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(BYTES_MOST).read_to_end(&mut bytes)?;
    Ok(parse(&bytes))
}

/// Reads the journal at `path` without holding it.
pub fn read_at(path: &Path) -> io::Result<Contents> {
    read(&bitcost_sys::files::open_regular(
        path,
        OpenOptions::new().read(true),
    )?)
}

pub fn parse(bytes: &[u8]) -> Contents {
    let mut contents = Contents::default();
    let mut pending: BTreeMap<u32, Change> = BTreeMap::new();
    for (index, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let (number, is_first) = (index + 1, index == 0);
        match step(line) {
            Ok(Entry::Header(header)) if is_first => contents.header = Some(header),
            Ok(Entry::Intent(change) | Entry::Made(change)) if !is_first => {
                drop(pending.insert(change.number, change))
            }
            Ok(Entry::Settled(number)) if !is_first => drop(pending.remove(&number)),
            Ok(_) => contents.damaged(format!(
                "line {number} is damaged: the header and no other line is the first"
            )),
            Err(Unread::Cut) => {
                contents.unread.push(format!(
                    "line {number} is cut off: nothing was changed after it"
                ));
            }
            Err(Unread::Damaged(why)) => {
                contents.damaged(format!("line {number} is damaged: {why}"))
            }
        }
    }
    if let Some(header) = contents.header.take_if(|header| header.format != FORMAT) {
        let Header {
            format, bitcost, ..
        } = header;
        contents.damaged(format!(
            "it has format {format} of bitcost {bitcost}, and this bitcost reads format {FORMAT} alone"
        ));
        pending.clear();
    }
    contents.pending = pending.into_values().collect();
    contents
}

/// The reason why a line could not be read.
enum Unread {
    /// Its writer died.
    Cut,
    /// The line differs from what was written; the text describes how.
    Damaged(String),
}

/// Parses one line, which ends with a newline unless it is the last one.
fn step(line: &[u8]) -> Result<Entry, Unread> {
    let Some(text) = line.strip_suffix(b"\n") else {
        // A whole line with another byte instead of its newline was not cut off.
        return match line.split_last().map(|(_, text)| checked(text)) {
            Some(Ok(_)) => Err(Unread::Damaged("its end was changed".to_owned())),
            _ => Err(Unread::Cut),
        };
    };
    let json = checked(text).map_err(|why| Unread::Damaged(why.to_owned()))?;
    serde_json::from_slice(json).map_err(|error| Unread::Damaged(error.to_string()))
}

/// The JSON text of a line without its end, if its checksum is right.
fn checked(text: &[u8]) -> Result<&[u8], &'static str> {
    const NONE: &str = "it has no checksum";
    let (digits, json) = text.split_at_checked(CHECKSUM_DIGITS).ok_or(NONE)?;
    let json = json.strip_prefix(b" ").ok_or(NONE)?;
    if digits == checksum(json).as_bytes() {
        Ok(json)
    } else {
        Err("its checksum is wrong")
    }
}

const CHECKSUM_DIGITS: usize = 8;

fn checksum(json: &[u8]) -> String {
    format!("{:08x}", crc32fast::hash(json))
}

/// A step as a line of a journal.
pub fn line(step: &Entry) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(step)?;
    let mut bytes = checksum(&json).into_bytes();
    bytes.push(b' ');
    bytes.extend(json);
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::single;

    pub(super) fn change(number: u32) -> Change {
        let (knob, subject) = ("mtu_bytes".to_owned(), "a0".to_owned());
        let (before, asked) = (single("1500"), single("1400"));
        Change {
            number,
            knob,
            subject,
            index: None,
            before,
            asked,
            after: None,
            side_effects: Default::default(),
            side_effects_after: None,
        }
    }

    #[test]
    fn truncated_journal_keeps_whole_lines_and_reports_the_rest() {
        let steps = [
            Entry::Header(Header::now(1)),
            Entry::Intent(change(1)),
            Entry::Intent(change(2)),
            Entry::Settled(1),
        ];
        let lines: Vec<Vec<u8>> = steps
            .iter()
            .map(|step| line(step).expect("a line"))
            .collect();
        let whole: Vec<u8> = lines.concat();
        for length in 0..=whole.len() {
            let contents = parse(&whole[..length]);
            let mut ends = lines.iter().scan(0, |end, line| {
                *end += line.len();
                Some(*end)
            });
            let count = ends.by_ref().take_while(|end| *end <= length).count();
            let wanted: &[u32] = [&[][..], &[], &[1], &[1, 2], &[2]][count];
            let pending: Vec<u32> = contents
                .pending
                .iter()
                .map(|change| change.number)
                .collect();
            assert_eq!(pending, wanted, "{length} bytes");
            let is_cut = length != lines[..count].iter().map(Vec::len).sum::<usize>();
            assert_eq!(
                contents.unread.len(),
                usize::from(is_cut),
                "{length} bytes: {:?}",
                contents.unread
            );
            assert!(!contents.hides_changes, "{length} bytes");
        }
    }
}
