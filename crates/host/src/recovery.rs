//! Journals that nobody holds any more: named, and taken back.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sys::namespace::{Kind, enter, network_cookie};

use crate::change::{Change, Outcome, take_back};
use crate::journal::{Contents, Header, Line, OpenJournal, Refusal, all, boot, hold, path_here, read};
use crate::knob::Scope;
use crate::knob_named;

/// What stands in the folder of journals.
#[derive(Debug, Clone)]
pub struct Found {
    /// The file.
    pub path: PathBuf,
    /// Whether a living process holds it.
    pub is_held: bool,
    /// What it says.
    pub contents: Contents,
}

/// Every journal of a folder.
pub fn found(folder: &Path) -> Vec<Found> {
    let look = |path: PathBuf| {
        let held = hold(&path, false);
        let contents = fs::File::open(&path).and_then(|file| read(&file)).ok()?;
        Some(Found { path, is_held: matches!(held, Err(Refusal::Held)), contents })
    };
    all(folder).into_iter().filter_map(look).collect()
}

/// Why no run may begin on this host; `None` when it may: a journal that nobody holds has changes that were not taken
/// back, of this network namespace or of the whole machine.
///
/// A journal of another network namespace stops no run here: none of its settings is in force here.
pub fn obstacle(folder: &Path) -> Option<String> {
    let is_left = |found: &Found| !found.is_held && found.contents.is_left() && concerns_us(folder, found);
    let Found { path, contents, .. } = found(folder).into_iter().find(is_left)?;
    let path = path.display();
    if contents.pending.is_empty() {
        let unread = contents.unread.join("; ");
        return Some(format!(
            "an earlier run left {path}, which hides what it changed on this host ({unread}); put it back with the bitcost that wrote it (bitcost host restore), or remove that file once the host is as it should be"
        ));
    }
    let since =
        contents.header.as_ref().map_or(String::new(), |header| format!(", begun {} ago,", ago(header.since_s)));
    let settings = match contents.pending.len() {
        1 => "a setting".to_owned(),
        count => format!("{count} settings"),
    };
    Some(format!(
        "an earlier run{since} left {settings} of this host changed ({path}); put back what it changed first: bitcost host restore"
    ))
}

fn concerns_us(folder: &Path, Found { path, contents, .. }: &Found) -> bool {
    let of_machine = |change: &Change| scope(change) == Some(Scope::Machine);
    let Some(header) = &contents.header else { return *path == path_here(folder) };
    header.boot != boot() || header.network == network_cookie().ok() || contents.pending.iter().any(of_machine)
}

/// Who holds the journal at `path`, in words.
pub fn holder(path: &Path) -> String {
    let header = fs::File::open(path).ok().and_then(|file| read(&file).ok()?.header);
    match header {
        Some(Header { agent_pid, since_s, .. }) => {
            format!("bitcost with process {agent_pid}, since {}", ago(since_s))
        }
        None => "another bitcost".to_owned(),
    }
}

/// How long ago a time is, in seconds since 1970: "42 s", "3 min", "5 h".
fn ago(since_s: u64) -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    match now.unwrap_or_default().as_secs().saturating_sub(since_s) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7200 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

/// What came of one journal.
#[derive(Debug)]
pub struct Recovered {
    /// The file.
    pub path: PathBuf,
    /// What came of each change, the last one first.
    pub outcomes: Vec<Outcome>,
    /// What could not be read, or done, in words.
    pub problems: Vec<String>,
}

/// Takes back what every journal of a folder says that nobody holds.
pub fn recover(folder: &Path) -> Vec<Recovered> {
    all(folder).into_iter().map(recover_one).collect()
}

/// Takes back what one journal says, unless somebody holds it.
pub fn recover_one(path: PathBuf) -> Recovered {
    let mut recovered = Recovered { path: path.clone(), outcomes: Vec::new(), problems: Vec::new() };
    let file = match hold(&path, false) {
        Ok(file) => file,
        Err(Refusal::Held) => {
            recovered.problems.push(format!("held by {}: it puts the host back itself", holder(&path)));
            return recovered;
        }
        Err(Refusal::Failed(why)) => {
            recovered.problems.push(why);
            return recovered;
        }
    };
    let adopted = read(&file).and_then(|contents| Ok((OpenJournal::adopt(file, path, &contents)?, contents)));
    match adopted {
        Ok((journal, contents)) => {
            recovered.problems.extend(contents.unread.iter().cloned());
            match place_of(&recovered.path, contents.header.as_ref()) {
                Ok(place) => recovered.outcomes = settle_at(journal, place, &contents),
                Err(why) => recovered.problems.push(why),
            }
            if contents.hides_changes && recovered.path.exists() {
                recovered.problems.push(KEPT.to_owned());
            }
        }
        Err(error) => recovered.problems.push(format!("cannot be read: {error}")),
    }
    recovered
}

/// What to do about a journal that is kept, since it says more than this program can read.
const KEPT: &str = "kept, since a line that cannot be read may name a change; put it back with the bitcost that wrote it, or remove the file once the host is as it should be";

/// Where changes were made.
enum Place {
    /// In the caller's network namespace.
    Here,
    /// In another.
    There(fs::File),
    /// In one that is gone.
    Nowhere,
}

fn place_of(path: &Path, header: Option<&Header>) -> Result<Place, String> {
    let Some(header) = header else {
        let is_here = path.parent().is_some_and(|folder| path == path_here(folder));
        let unknown = "it does not say in which network namespace its changes were made; nothing was put back: run bitcost host restore there, or remove the file once that is as it should be";
        return if is_here { Ok(Place::Here) } else { Err(unknown.to_owned()) };
    };
    let is_this_boot = header.boot == boot();
    let is_here = header.network == network_cookie().ok();
    if (is_this_boot && is_here) || (!is_this_boot && header.is_first_network) {
        return Ok(Place::Here);
    }
    match header.network.filter(|_| is_this_boot).map(find_network) {
        Some(Search::Found(network)) => Ok(Place::There(network)),
        Some(Search::Hidden) => Err(
            "its network namespace was not found among those that this user may look into; run bitcost host restore in it, or remove the file once that is as it should be".to_owned(),
        ),
        Some(Search::NotThere) | None => Ok(Place::Nowhere),
    }
}

/// Takes back everything pending where it was changed.
fn settle_at(journal: OpenJournal, place: Place, contents: &Contents) -> Vec<Outcome> {
    let keep = contents.hides_changes;
    match place {
        Place::Here => settle(journal, None, keep),
        Place::Nowhere => settle(journal, Some("its network namespace is gone, and its settings with it"), keep),
        // The thread ends in that namespace; this one stays where it is.
        Place::There(network) => {
            let there = std::thread::spawn(move || match enter(network.as_fd(), Kind::Net) {
                Ok(()) => settle(journal, None, keep),
                Err(_) => Vec::new(),
            });
            there.join().unwrap_or_default()
        }
    }
}

/// What came of looking for a network namespace.
enum Search {
    Found(fs::File),
    /// Not among those that could be looked into, and there are others.
    Hidden,
    NotThere,
}

/// Looks for the network namespace with this cookie, where a process is in it or it has a name.
fn find_network(cookie: u64) -> Search {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_processes = entries("/proc").map(|path| path.join("ns/net"));
    let (mut seen, mut is_any_hidden) = (Vec::new(), false);
    for path in of_processes.chain(entries("/run/netns")) {
        let looked = fs::File::open(path).and_then(|file| Ok((file.metadata()?.ino(), file)));
        let found = match looked {
            Ok((inode, _)) if seen.contains(&inode) => continue,
            Ok((inode, file)) => {
                seen.push(inode);
                cookie_of(&file).map(|found| (found, file))
            }
            Err(error) => Err(error),
        };
        match found {
            Ok((found, file)) if found == cookie => return Search::Found(file),
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => is_any_hidden = true,
            _ => {}
        }
    }
    if is_any_hidden { Search::Hidden } else { Search::NotThere }
}

fn cookie_of(network: &fs::File) -> std::io::Result<u64> {
    let network = network.try_clone()?;
    let look = move || enter(network.as_fd(), Kind::Net).and_then(|()| network_cookie());
    std::thread::spawn(look).join().unwrap_or(Err(std::io::ErrorKind::Other.into()))
}

/// Takes back everything pending, the last change first; removes the journal when nothing is left to do, unless it is
/// to be kept.
pub fn settle(mut journal: OpenJournal, gone: Option<&str>, keep: bool) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for change in journal.pending().iter().rev() {
        let outcome = match gone {
            Some(reason) if scope(change) == Some(Scope::Network) => is_gone(change, reason),
            _ => take_back(change),
        };
        if outcome.is_settled() {
            // A disk that is full keeps the journal as it was: taking back once more changes nothing.
            let _ = journal.append(&Line::Settled(change.number));
        }
        outcomes.push(outcome);
    }
    if !keep && outcomes.iter().all(Outcome::is_settled) {
        let _ = journal.remove();
    }
    outcomes
}

fn scope(change: &Change) -> Option<Scope> {
    knob_named(&change.knob).map(|knob| knob.scope(&change.subject))
}

fn is_gone(change: &Change, reason: &str) -> Outcome {
    let (knob, subject) = (change.knob.clone(), change.subject.clone());
    Outcome { knob, subject, gone: Some(reason.to_owned()), ..Outcome::default() }
}
