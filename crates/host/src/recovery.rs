//! Journals that nobody holds any more: named, and taken back.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sys::namespace::{Kind, enter, network_cookie};

use crate::change::{Change, Outcome, take_back};
use crate::journal::{Contents, Header, Line, OpenJournal, Refusal, all, boot, check_private, hold, read, read_at};
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

/// Every journal of a folder, also one that cannot be read.
///
/// # Errors
/// When others may write into the folder.
pub fn found(folder: &Path) -> Result<Vec<Found>, String> {
    check_private(folder)?;
    let look = |path: PathBuf| {
        let held = hold(&path, false);
        let contents = match &held {
            Ok(file) => read(file),
            Err(Refusal::Held) => read_at(&path),
            Err(Refusal::Failed(why)) => Ok(Contents::unreadable(why.clone())),
        };
        // One that was held may be gone by now.
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let contents = match contents {
            Err(error) if is_gone(&error) => return None,
            Err(error) => Contents::unreadable(format!("it cannot be read: {error}")),
            Ok(contents) => contents,
        };
        Some(Found { path, is_held: matches!(held, Err(Refusal::Held)), contents })
    };
    Ok(all(folder).into_iter().filter_map(look).collect())
}

/// Why no run may begin on this host; `None` when it may: a journal that nobody holds has changes that were not restored,
/// of this network namespace or of the whole machine, or is damaged; or others may write into the folder of journals.
///
/// A journal of another network namespace stops no run here: none of its settings is in force here.
pub fn obstacle(folder: &Path) -> Option<String> {
    let is_left = |found: &Found| !found.is_held && found.contents.is_left() && concerns_us(found);
    let found = match found(folder) {
        Ok(found) => found,
        Err(why) => return Some(why),
    };
    let Found { path, contents, .. } = found.into_iter().find(is_left)?;
    let path = path.display();
    if contents.pending.is_empty() || contents.header.is_none() {
        let unread = contents.unread.join("; ");
        return Some(format!(
            "an earlier run left {path}, which hides what it changed on this host ({unread}); restore it with the bitcost that wrote it (bitcost host restore), or remove that file once the host is as it should be"
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

fn concerns_us(Found { contents, .. }: &Found) -> bool {
    let of_machine = |change: &Change| scope(change) == Some(Scope::Machine);
    // Of a header that cannot be read it is not known what the journal concerns.
    let Some(header) = &contents.header else { return true };
    header.boot != boot() || header.network == network_cookie().ok() || contents.pending.iter().any(of_machine)
}

/// Who holds the journal at `path`, in words.
pub fn holder(path: &Path) -> String {
    let header = read_at(path).ok().and_then(|contents| contents.header);
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
///
/// # Errors
/// When others may write into the folder: nothing was done.
pub fn recover(folder: &Path) -> Result<Vec<Recovered>, String> {
    check_private(folder)?;
    Ok(all(folder).into_iter().map(recover_one).collect())
}

/// Takes back what one journal says, unless somebody holds it, and removes it once nothing is left to do. One that is
/// damaged stays as it is: what its whole lines say is taken back where its header is whole.
pub fn recover_one(path: PathBuf) -> Recovered {
    let mut recovered = Recovered { path: path.clone(), outcomes: Vec::new(), problems: Vec::new() };
    match try_to_recover(path, &mut recovered.problems) {
        Ok(outcomes) => recovered.outcomes = outcomes,
        Err(why) => recovered.problems.push(why),
    }
    recovered
}

fn try_to_recover(path: PathBuf, problems: &mut Vec<String>) -> Result<Vec<Outcome>, String> {
    path.parent().map_or(Ok(()), check_private)?;
    let file = hold(&path, false).map_err(|refusal| match refusal {
        Refusal::Held => format!("held by {}: it restores the host itself", holder(&path)),
        Refusal::Failed(why) => why,
    })?;
    let failed = |error: io::Error| format!("cannot be read: {error}");
    let contents = read(&file).map_err(failed)?;
    problems.extend(contents.unread.iter().cloned());
    if !contents.hides_changes {
        let place = place_of(contents.header.as_ref())?;
        let journal = OpenJournal::adopt(file, path, &contents).map_err(failed)?;
        return at(place, move |gone| settle(journal, gone));
    }
    problems.push(KEPT.to_owned());
    match &contents.header {
        None => Ok(Vec::new()),
        Some(header) => {
            let (place, pending) = (place_of(Some(header))?, contents.pending);
            at(place, move |gone| pending.iter().rev().map(|change| take_back_or_gone(change, gone)).collect())
        }
    }
}

/// What to do about a journal that is kept, since it says more than this program can read.
const KEPT: &str = "kept, since what cannot be read may name a change; restore it with the bitcost that wrote it, or remove the file once the host is as it should be";

/// Where changes were made.
enum Place {
    /// In the caller's network namespace.
    Here,
    /// In another.
    There(fs::File),
    /// In one that is gone.
    Nowhere,
}

/// Without a header nothing was changed: it is written first.
fn place_of(header: Option<&Header>) -> Result<Place, String> {
    let Some(header) = header else { return Ok(Place::Here) };
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

/// Does something where changes were made, told why nothing can be done about settings of a network that is gone.
fn at<F>(place: Place, work: F) -> Result<Vec<Outcome>, String>
where
    F: FnOnce(Option<&str>) -> Vec<Outcome> + Send + 'static,
{
    match place {
        Place::Here => Ok(work(None)),
        Place::Nowhere => Ok(work(Some("its network namespace is gone, and its settings with it"))),
        // The thread ends in that namespace; this one stays where it is.
        Place::There(network) => {
            let there = move || enter(network.as_fd(), Kind::Net).map(|()| work(None));
            let outcomes = std::thread::spawn(there).join().unwrap_or(Err(io::ErrorKind::Other.into()));
            outcomes.map_err(|error| format!("cannot enter its network namespace: {error}"))
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

/// Takes back everything pending, the last change first; removes the journal when nothing is left to do.
pub fn settle(mut journal: OpenJournal, gone: Option<&str>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for change in journal.pending().iter().rev() {
        let outcome = take_back_or_gone(change, gone);
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

fn take_back_or_gone(change: &Change, gone: Option<&str>) -> Outcome {
    match gone {
        Some(reason) if scope(change) == Some(Scope::Network) => is_gone(change, reason),
        _ => take_back(change),
    }
}

fn scope(change: &Change) -> Option<Scope> {
    knob_named(&change.knob).map(|knob| knob.scope(&change.subject))
}

fn is_gone(change: &Change, reason: &str) -> Outcome {
    let (knob, subject) = (change.knob.clone(), change.subject.clone());
    Outcome { knob, subject, gone: Some(reason.to_owned()), ..Outcome::default() }
}
