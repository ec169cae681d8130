//! The journal: what was changed on a host and not put back yet, on disk, one JSON line for each step.
//!
//! It has a header, then changes as they were intended, made and settled. A line that is cut or of a newer
//! version is named; the others count.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::change::Change;

/// Version of the format.
const FORMAT: u32 = 1;
const ENDING: &str = "journal";
const SYSTEM_STATE: &str = "/var/lib/bitcost";
/// What a group or others may not do with the folder.
const WRITABLE_BY_OTHERS: u32 = 0o022;
const OURS_ALONE: u32 = 0o600;

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

/// Where journals are: `BITCOST_STATE_DIR`, or `/var/lib/bitcost` for root, or the user's state folder.
pub fn folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(path) = variable("BITCOST_STATE_DIR") {
        return path;
    }
    let uid_map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = uid_map.split_ascii_whitespace().eq(["0", "0", "4294967295"]);
    if sys::process::effective_uid() == 0 && is_whole {
        return PathBuf::from(SYSTEM_STATE);
    }
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    state.map_or_else(|| PathBuf::from(SYSTEM_STATE), |state| state.join("bitcost"))
}

/// Makes the folder if need be, and checks that nobody else may write there.
pub fn ready(folder: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot use the state folder {}: {error}", folder.display());
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let meta = fs::metadata(folder).map_err(failed)?;
    if meta.uid() != sys::process::effective_uid() || meta.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(format!(
            "the state folder {} belongs to user {} with mode {:o}: others could write there; make it yours alone (chmod 700), or name another in BITCOST_STATE_DIR",
            folder.display(),
            meta.uid(),
            meta.mode() & 0o7777
        ));
    }
    Ok(())
}

/// Every journal of a folder; none where the folder is not there.
pub fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|end| end == ENDING)).collect();
    paths.sort();
    paths
}

/// The journal of the caller's network namespace.
pub fn path_here(folder: &Path) -> PathBuf {
    let name = sys::namespace::network_cookie().map_or("network".to_owned(), |cookie| format!("network-{cookie}"));
    folder.join(name).with_extension(ENDING)
}

/// An open journal, held by this process alone.
#[derive(Debug)]
pub struct OpenJournal {
    file: File,
    path: PathBuf,
    header: Vec<u8>,
    pending: BTreeMap<u32, Change>,
}

/// Why a journal could not be held.
#[derive(Debug)]
pub enum Refusal {
    /// Another process holds it.
    Held,
    /// It cannot be opened, in words.
    Failed(String),
}

/// Opens a journal and holds it.
pub fn hold(path: &Path, create: bool) -> Result<File, Refusal> {
    let options = OpenOptions::new().read(true).write(true).create(create).truncate(false).mode(OURS_ALONE).open(path);
    let failed = |error: io::Error| Refusal::Failed(format!("cannot open {}: {error}", path.display()));
    let file = options.map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Refusal::Held),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // Whoever held it may have removed it before letting go.
    let is_there = fs::metadata(path).is_ok_and(|meta| file.metadata().is_ok_and(|ours| ours.ino() == meta.ino()));
    if is_there { Ok(file) } else { Err(Refusal::Held) }
}

/// Reads what a journal says.
pub fn read(mut file: &File) -> io::Result<Contents> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_string(&mut text)?;
    Ok(parse(&text))
}

fn parse(text: &str) -> Contents {
    let mut contents = Contents::default();
    let mut pending: BTreeMap<u32, Change> = BTreeMap::new();
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let number = index + 1;
        match serde_json::from_str::<Line>(line) {
            _ if !line.ends_with('\n') => contents.unread.push(format!("line {number} is cut short")),
            Ok(Line::Header(header)) => contents.header = Some(header),
            Ok(Line::Intent(change) | Line::Made(change)) => drop(pending.insert(change.number, change)),
            Ok(Line::Settled(number)) => drop(pending.remove(&number)),
            Err(error) => contents.unread.push(format!("line {number} cannot be read: {error}")),
        }
    }
    if let Some(header) = contents.header.as_ref().filter(|header| header.format > FORMAT) {
        contents.unread.push(format!("it was written by bitcost {}, which is newer than this one", header.bitcost));
    }
    contents.pending = pending.into_values().collect();
    contents
}

impl OpenJournal {
    /// Begins a journal in a file that is held and has nothing pending.
    pub fn begin(mut file: File, path: PathBuf, header: &Header) -> io::Result<OpenJournal> {
        let header = line(&Line::Header(header.clone()))?;
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        file.write_all(&header)?;
        file.sync_all()?;
        if let Some(folder) = path.parent() {
            File::open(folder)?.sync_all()?;
        }
        Ok(OpenJournal { file, path, header, pending: BTreeMap::new() })
    }

    /// Goes on with a journal that another process left.
    pub fn adopt(file: File, path: PathBuf, contents: &Contents) -> io::Result<OpenJournal> {
        let pending = contents.pending.iter().map(|change| (change.number, change.clone())).collect();
        let mut adopted = OpenJournal { file, path, header: Vec::new(), pending };
        adopted.file.seek(SeekFrom::End(0))?;
        // A line that was cut must not swallow the next one.
        adopted.file.write_all(b"\n")?;
        Ok(adopted)
    }

    /// Appends a step, and returns when it is on the disk. Nothing pending: all but the header is dropped.
    pub fn append(&mut self, step: &Line) -> io::Result<()> {
        self.file.write_all(&line(step)?)?;
        self.file.sync_data()?;
        match step {
            Line::Intent(change) | Line::Made(change) => drop(self.pending.insert(change.number, change.clone())),
            Line::Settled(number) => drop(self.pending.remove(number)),
            Line::Header(_) => {}
        }
        if self.pending.is_empty() && !self.header.is_empty() {
            self.file.set_len(self.header.len() as u64)?;
            self.file.seek(SeekFrom::End(0))?;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// What is not settled, in the order in which it was changed.
    pub fn pending(&self) -> Vec<Change> {
        self.pending.values().cloned().collect()
    }

    /// Removes the journal, while it is held.
    pub fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
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

    fn change(number: u32) -> Change {
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
        assert!(contents.unread.iter().any(|line| line.starts_with("line 3 cannot be read")), "{:?}", contents.unread);
        assert!(contents.unread.iter().any(|line| line.contains("bitcost 9.9")), "{:?}", contents.unread);
    }

    #[test]
    fn nothing_pending_leaves_the_header_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.journal");
        let Ok(file) = hold(&path, true) else { panic!("not held") };
        assert!(matches!(hold(&path, false), Err(Refusal::Held)));
        let mut journal = OpenJournal::begin(file, path.clone(), &Header::now(1)).expect("begun");
        let empty = fs::metadata(&path).expect("there").len();
        journal.append(&Line::Intent(change(1))).expect("written");
        assert_eq!(read(&File::open(&path).expect("there")).expect("read").pending, [change(1)]);
        journal.append(&Line::Settled(1)).expect("written");
        assert_eq!(fs::metadata(&path).expect("there").len(), empty);
        journal.remove().expect("removed");
        assert!(all(folder.path()).is_empty());
    }

    #[test]
    fn a_folder_that_others_may_write_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(ready(folder.path()), Ok(()));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).expect("changed");
        assert!(ready(folder.path()).expect_err("refused").contains("chmod 700"));
    }
}
