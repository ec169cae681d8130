//! The journal: what was changed on a host and not put back yet, on disk, one JSON line for each step.
//!
//! It has a header, then changes as they were intended, made and settled. A line that is cut, or that only a newer
//! bitcost can read, is named; the others count.
//!
//! | file | it is |
//! |---|---|
//! | place | where journals are |
//! | open | a journal that is held and written |

mod open;
mod place;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::change::Change;

pub use open::{OpenJournal, Refusal, hold};
pub use place::{all, folder, path_here, ready};

/// Version of the format.
const FORMAT: u32 = 1;

/// The first line: who changes the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Version of the format.
    pub format: u32,
    /// Version of bitcost.
    pub bitcost: String,
    /// The boot during which it was written (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// The network namespace, by its cookie; `None` where the kernel has none.
    pub network: Option<u64>,
    /// Whether that is the machine's first network namespace.
    pub is_first_network: bool,
    /// The process id of the agent.
    pub agent_pid: u32,
    /// When it was begun, in seconds since 1970.
    pub since_s: u64,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// The first line.
    Header(Header),
    /// A change is about to be made.
    Intent(Change),
    /// A change was made and read back.
    Made(Change),
    /// A change was taken back.
    Settled(u32),
}

/// What a journal says.
#[derive(Debug, Clone, Default)]
pub struct Contents {
    /// Its header; `None` where it is not whole.
    pub header: Option<Header>,
    /// What is not settled, in the order in which it was changed.
    pub pending: Vec<Change>,
    /// Lines that could not be read, in words.
    pub unread: Vec<String>,
    /// Whether a whole line could not be read: settings may be changed of which nothing is known here. (A line that
    /// was cut was never answered, and so nothing was done after it.)
    pub hides_changes: bool,
}

impl Contents {
    /// Whether something may be left to put back.
    pub fn is_left(&self) -> bool {
        self.hides_changes || !self.pending.is_empty()
    }
}

impl Header {
    /// Of a journal that begins now, in the caller's network namespace.
    pub fn now(agent_pid: u32) -> Header {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Header {
            format: FORMAT,
            bitcost: env!("CARGO_PKG_VERSION").to_owned(),
            boot: boot(),
            network: sys::namespace::network_cookie().ok(),
            is_first_network: is_first_network(),
            agent_pid,
            since_s: since.as_secs(),
        }
    }
}

/// The present boot; empty where the kernel does not name it.
pub fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

fn is_first_network() -> bool {
    let inode = |path: &str| fs::metadata(path).map(|meta| meta.ino()).ok();
    let ours = inode("/proc/thread-self/ns/net");
    ours.is_some() && ours == inode("/proc/1/ns/net")
}

/// Reads what a journal says.
pub fn read(mut file: &File) -> io::Result<Contents> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

fn parse(text: &str) -> Contents {
    let mut contents = Contents::default();
    let mut pending: BTreeMap<u32, Change> = BTreeMap::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        match serde_json::from_str::<Line>(line) {
            _ if !line.ends_with('\n') => {
                contents.unread.push(format!("line {number} is cut short: nothing was done after it"));
            }
            Ok(Line::Header(header)) => contents.header = Some(header),
            Ok(Line::Intent(change) | Line::Made(change)) => drop(pending.insert(change.number, change)),
            Ok(Line::Settled(number)) => drop(pending.remove(&number)),
            Err(error) => {
                contents.unread.push(format!("line {number} cannot be read: {error}"));
                contents.hides_changes = true;
            }
        }
    }
    if let Some(header) = contents.header.as_ref().filter(|header| header.format > FORMAT) {
        contents.unread.push(format!("it was written by bitcost {}, which is newer than this one", header.bitcost));
    }
    contents.pending = pending.into_values().collect();
    contents
}

fn line(step: &Line) -> io::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(step)?;
    bytes.push(b'\n');
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::single;

    pub(super) fn change(number: u32) -> Change {
        let (knob, subject) = ("mtu_bytes".to_owned(), "a0".to_owned());
        Change { number, knob, subject, before: single("1500"), asked: single("1400"), after: None }
    }

    #[test]
    fn a_journal_cut_anywhere_keeps_its_whole_lines_and_names_the_rest() {
        let steps = [Line::Header(Header::now(1)), Line::Intent(change(1)), Line::Intent(change(2)), Line::Settled(1)];
        let lines: Vec<Vec<u8>> = steps.iter().map(|step| line(step).expect("a line")).collect();
        let whole: Vec<u8> = lines.concat();
        for length in 0..=whole.len() {
            let contents = parse(std::str::from_utf8(&whole[..length]).expect("ASCII"));
            let mut ends = lines.iter().scan(0, |end, line| {
                *end += line.len();
                Some(*end)
            });
            let count = ends.by_ref().take_while(|end| *end <= length).count();
            let wanted: &[u32] = [&[][..], &[], &[1], &[1, 2], &[2]][count];
            let pending: Vec<u32> = contents.pending.iter().map(|change| change.number).collect();
            assert_eq!(pending, wanted, "{length} bytes");
            let is_cut = length != lines[..count].iter().map(Vec::len).sum::<usize>();
            assert_eq!(contents.unread.len(), usize::from(is_cut), "{length} bytes: {:?}", contents.unread);
            assert!(!contents.hides_changes, "{length} bytes");
        }
    }

    #[test]
    fn what_a_newer_version_wrote_is_named_and_the_rest_counts() {
        let header = Header { format: FORMAT + 1, bitcost: "9.9".to_owned(), ..Header::now(1) };
        let mut text = line(&Line::Header(header)).expect("a line");
        text.extend(line(&Line::Intent(change(1))).expect("a line"));
        text.extend(b"{\"prophecy\":{}}\n");
        let contents = parse(std::str::from_utf8(&text).expect("ASCII"));
        assert_eq!(contents.pending, [change(1)]);
        assert!(contents.hides_changes);
        assert!(contents.unread.iter().any(|line| line.starts_with("line 3 cannot be read")), "{:?}", contents.unread);
        assert!(contents.unread.iter().any(|line| line.contains("bitcost 9.9")), "{:?}", contents.unread);
    }
}
