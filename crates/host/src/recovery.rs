//! Journals that no process holds any more: listed, and restored.

use std::io;
use std::path::{Path, PathBuf};

use bitcost_model::Unavailable;
use bitcost_sys::namespace::network_cookie;
use serde::Serialize;

use crate::change::{Change, Outcome, order, restore};
use crate::journal::{
    Contents, Entry, Header, OpenJournal, Refusal, all, boot, check_private, hold, read, read_at,
};
use crate::knob::Scope;
use crate::knob_named;

/// A journal in the folder of journals.
#[derive(Debug, Clone, Serialize)]
pub struct Found {
    pub path: PathBuf,
    /// Whether a living process holds it.
    #[serde(rename = "held")]
    pub is_held: bool,
    #[serde(flatten)]
    pub contents: Contents,
}

/// Every journal of a folder, including those that cannot be read.
pub fn found(folder: &Path) -> Result<Vec<Found>, Unavailable> {
    check_private(folder)?;
    let look = |path: PathBuf| {
        let held = hold(&path, false);
        let contents = match &held {
            Ok(file) => read(file),
            Err(Refusal::Held) => read_at(&path),
            Err(Refusal::Failed(why)) => Ok(Contents::unreadable(why.clone())),
        };
        // A journal that was held may have been removed since.
        let is_gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        let contents = match contents {
            Err(error) if is_gone(&error) => return None,
            Err(error) => Contents::unreadable(format!("it cannot be read: {error}")),
            Ok(contents) => contents,
        };
        Some(Found {
            path,
            is_held: matches!(held, Err(Refusal::Held)),
            contents,
        })
    };
    Ok(all(folder).into_iter().filter_map(look).collect())
}

/// Checks that a run may start on this host. A journal of another network namespace does not block a run: none of
/// its settings is in effect here.
///
/// # Errors
/// A journal that no process holds is damaged, or has changes of this network namespace or of the whole machine that
/// were not restored; or others may write to the folder of journals.
pub fn check_restored(folder: &Path) -> Result<(), Unavailable> {
    let is_left =
        |found: &Found| !found.is_held && found.contents.is_left() && concerns_this_host(found);
    let left = found(folder)?.into_iter().find(is_left);
    let Some(Found { path, contents, .. }) = left else {
        return Ok(());
    };
    let path = path.display();
    if contents.pending.is_empty() || contents.header.is_none() {
        let unread = contents.unread.join("; ");
        return Err(Unavailable(format!(
            "an earlier run left the journal {path}, of which a part cannot be read ({unread}), so what it changed on this host is unknown; restore it with the version of bitcost that wrote it (bitcost host restore), or remove that file once the host's settings are correct"
        )));
    }
    let since = contents.header.as_ref().map_or(String::new(), |header| {
        format!(", started {} ago,", ago(header.since_s))
    });
    let settings = match contents.pending.len() {
        1 => "a setting".to_owned(),
        count => format!("{count} settings"),
    };
    Err(Unavailable(format!(
        "an earlier run{since} left {settings} of this host changed ({path}); restore what it changed first: bitcost host restore"
    )))
}

fn concerns_this_host(Found { contents, .. }: &Found) -> bool {
    let of_machine = |change: &Change| scope(change) == Some(Scope::Machine);
    // Without a readable header it is unknown what the journal concerns.
    let Some(header) = &contents.header else {
        return true;
    };
    header.boot != boot()
        || header.network == network_cookie().ok()
        || contents.pending.iter().any(of_machine)
}

/// A phrase that names the process that holds the journal at `path`.
pub fn owner(path: &Path) -> String {
    let header = read_at(path).ok().and_then(|contents| contents.header);
    match header {
        Some(Header {
            agent_pid, since_s, ..
        }) => {
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

/// The result of restoring one journal.
#[derive(Debug)]
pub struct Recovered {
    pub path: PathBuf,
    /// The result of each change, the last one first.
    pub outcomes: Vec<Outcome>,
    /// A sentence for each step that failed, and for each part that could not be read.
    pub problems: Vec<String>,
}

/// Restores the changes of every journal of a folder that no process holds.
///
/// # Errors
/// When others may write to the folder; nothing was restored.
pub fn recover(folder: &Path) -> Result<Vec<Recovered>, Unavailable> {
    check_private(folder)?;
    Ok(all(folder).into_iter().map(recover_one).collect())
}

/// Restores the changes of one journal, unless a process holds it, and removes it once everything
/// is restored. A damaged journal is kept: the changes of its intact lines are restored if its
/// header is intact.
pub fn recover_one(path: PathBuf) -> Recovered {
    let mut recovered = Recovered {
        path: path.clone(),
        outcomes: Vec::new(),
        problems: Vec::new(),
    };
    match try_to_recover(path, &mut recovered.problems) {
        Ok(outcomes) => recovered.outcomes = outcomes,
        Err(why) => recovered.problems.push(why),
    }
    recovered
}

fn try_to_recover(path: PathBuf, problems: &mut Vec<String>) -> Result<Vec<Outcome>, String> {
    path.parent().map_or(Ok(()), check_private)?;
    let file = hold(&path, false).map_err(|refusal| match refusal {
        Refusal::Held => format!("held by {}: it restores the host itself", owner(&path)),
        Refusal::Failed(why) => why,
    })?;
    let failed = |error: io::Error| format!("cannot be read: {error}");
    let contents = read(&file).map_err(failed)?;
    problems.extend(contents.unread.iter().cloned());
    let header = contents.header.as_ref();
    if contents.hides_changes {
        problems.push(KEPT.to_owned());
        if header.is_none() {
            return Ok(Vec::new());
        }
    }
    let (gone, mut pending) = (gone(header)?, contents.pending.clone());
    if header.is_some_and(|header| header.boot != boot()) {
        // An interface may have another index since.
        pending.iter_mut().for_each(|change| change.index = None);
    }
    let journal = match contents.hides_changes {
        true => None,
        false => Some(OpenJournal::adopt(file, path, &contents).map_err(failed)?),
    };
    Ok(settle(pending, journal, gone))
}

/// The remedy for a journal that is kept, since it has more than this program can read.
const KEPT: &str = "kept, since what cannot be read may be a change; restore it with the version of bitcost that wrote it, or remove the file once the host's settings are correct";

const ELSEWHERE: &str = "its changes are of another network namespace; run bitcost host restore in it, or remove the file where that is gone";

/// Why the settings of a journal's network namespace cannot be restored; absent where it is the caller's. Without a header
/// nothing was changed, since it is written first.
///
/// # Errors
/// It is another one of this boot.
fn gone(header: Option<&Header>) -> Result<Option<&'static str>, String> {
    let Some(header) = header else {
        return Ok(None);
    };
    match header.boot == boot() {
        true if header.network != network_cookie().ok() => Err(ELSEWHERE.to_owned()),
        false if !header.is_first_network => Ok(Some(
            "its network namespace is gone, and its settings with it",
        )),
        _ => Ok(None),
    }
}

/// Restores these changes as [`crate::ChangeSet::restore`] does. The journal that has them is removed when everything is restored;
/// it is absent where it is kept as it is.
pub fn settle(
    mut pending: Vec<Change>,
    mut journal: Option<OpenJournal>,
    gone: Option<&str>,
) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    order(&mut pending);
    for change in pending.iter().rev() {
        let outcome = restore_or_gone(change, gone);
        if let (Some(journal), true) = (&mut journal, outcome.is_settled()) {
            // On a full disk the journal stays unchanged: restoring a second time changes nothing.
            let _ = journal.append(&Entry::Settled(change.number));
        }
        outcomes.push(outcome);
    }
    if let Some(journal) = journal.filter(|_| outcomes.iter().all(Outcome::is_settled)) {
        let _ = journal.remove();
    }
    outcomes
}

fn restore_or_gone(change: &Change, gone: Option<&str>) -> Outcome {
    match gone {
        Some(reason) if scope(change) == Some(Scope::Network) => {
            let gone = Some(reason.to_owned());
            Outcome {
                gone,
                ..Outcome::of(change)
            }
        }
        _ => restore(change),
    }
}

fn scope(change: &Change) -> Option<Scope> {
    knob_named(&change.knob).map(|knob| knob.scope(&change.subject))
}
