//! Journals that nobody holds any more: named, and taken back.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sys::namespace::{Kind, enter, network_cookie};

use crate::change::{Change, Outcome, take_back};
use crate::journal::{Contents, Header, Line, OpenJournal, Refusal, all, boot, hold, read};
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

/// Why no run may begin on this host; `None` when it may: a journal that nobody holds has changes that were not taken back.
pub fn obstacle(folder: &Path) -> Option<String> {
    let is_left = |found: &Found| !found.is_held && !found.contents.pending.is_empty();
    let left = found(folder).into_iter().find(is_left)?;
    let count = left.contents.pending.len();
    let since = left.contents.header.as_ref().map_or(0, |header| header.since_s);
    Some(format!(
        "an earlier run, begun {} s ago, left {count} settings of this host changed ({}); put them back first: bitcost host restore",
        now_s().saturating_sub(since),
        left.path.display()
    ))
}

/// Who holds the journal at `path`, in words.
pub fn holder(path: &Path) -> String {
    let header = fs::File::open(path).ok().and_then(|file| read(&file).ok()?.header);
    match header {
        Some(Header { agent_pid, since_s, .. }) => {
            format!("bitcost with process {agent_pid}, since {} s", now_s().saturating_sub(since_s))
        }
        None => "another bitcost".to_owned(),
    }
}

fn now_s() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
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
            recovered.outcomes = settle_elsewhere(journal, contents.header.as_ref());
        }
        Err(error) => recovered.problems.push(format!("cannot be read: {error}")),
    }
    recovered
}

/// Takes back everything pending, in the network namespace in which it was changed.
fn settle_elsewhere(journal: OpenJournal, header: Option<&Header>) -> Vec<Outcome> {
    let Some(header) = header else { return settle(journal, None) };
    let is_this_boot = header.boot == boot();
    let is_here = header.network == network_cookie().ok();
    if (is_this_boot && is_here) || (!is_this_boot && header.is_first_network) {
        return settle(journal, None);
    }
    let network = if is_this_boot { header.network.and_then(find_network) } else { None };
    let Some(network) = network else {
        return settle(journal, Some("its network namespace is gone, and its settings with it"));
    };
    // The thread ends in that namespace; this one stays where it is.
    let there = std::thread::spawn(move || match enter(network.as_fd(), Kind::Net) {
        Ok(()) => settle(journal, None),
        Err(_) => Vec::new(),
    });
    there.join().unwrap_or_default()
}

/// The network namespace with this cookie, where a process is in it or it has a name.
fn find_network(cookie: u64) -> Option<fs::File> {
    let entries = |folder: &str| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_processes = entries("/proc").map(|path| path.join("ns/net"));
    let mut seen = Vec::new();
    of_processes.chain(entries("/run/netns")).find_map(|path| {
        let file = fs::File::open(path).ok()?;
        let inode = file.metadata().ok()?.ino();
        if seen.contains(&inode) {
            return None;
        }
        seen.push(inode);
        let there = file.try_clone().ok()?;
        let look = move || enter(there.as_fd(), Kind::Net).and_then(|()| network_cookie()).ok();
        (std::thread::spawn(look).join().ok().flatten() == Some(cookie)).then_some(file)
    })
}

/// Takes back everything pending, the last change first; removes the journal when nothing is left to do.
///
/// `gone` says why nothing of one network namespace can be put back.
pub fn settle(mut journal: OpenJournal, gone: Option<&str>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for change in journal.pending().iter().rev() {
        let outcome = match gone {
            Some(reason) if is_of_network(change) => is_gone(change, reason),
            _ => take_back(change),
        };
        if outcome.is_settled() {
            // A disk that is full keeps the journal as it was: taking back once more changes nothing.
            let _ = journal.append(&Line::Settled(change.number));
        }
        outcomes.push(outcome);
    }
    if outcomes.iter().all(Outcome::is_settled) {
        let _ = journal.remove();
    }
    outcomes
}

fn is_of_network(change: &Change) -> bool {
    knob_named(&change.knob).is_some_and(|knob| knob.scope(&change.subject) == Scope::Network)
}

fn is_gone(change: &Change, reason: &str) -> Outcome {
    let (knob, subject) = (change.knob.clone(), change.subject.clone());
    Outcome { knob, subject, gone: Some(reason.to_owned()), ..Outcome::default() }
}
