//! Checks whether the hosts and programs that a log names may be used: somebody else may have
//! written the log.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bitcost_model::plan::Plan;
use bitcost_sys::process::effective_uid;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::hosts::Named;
use crate::progress::Progress;
use crate::store::LOG_NAME;

/// Bits of a file's mode by which everybody may write it (inode(7)).
const WRITABLE_BY_ALL: u32 = 0o002;

/// Reports what resuming starts, and refuses it if somebody other than the user could have written
/// that, unless `trust`.
///
/// # Errors
/// Usage, with the programs that would be started and the option that allows it.
pub fn check(
    folder: &Path,
    destination: &Destination,
    plan: &Plan,
    trust: bool,
    progress: &mut dyn Progress,
) -> Result<(), ExecuteError> {
    let named = match destination {
        Destination::Hosts(named) => Some(&**named),
        Destination::Lab => None,
    };
    let programs = programs_of(plan);
    let mut started = vec![named.map_or("agents in the embedded lab".to_owned(), Named::started)];
    if !programs.is_empty() {
        started.push(format!("the programs {}", programs.join(", ")));
    }
    if named.is_some() || !programs.is_empty() {
        progress.message(&format!(
            "the log names what is started: {}",
            started.join("; ")
        ));
    }
    let config = named.and_then(|named| named.spec.ssh_config.as_deref());
    let mut foreign: Vec<String> = [folder.to_owned(), folder.join(LOG_NAME)]
        .iter()
        .filter_map(|path| foreign(path, false))
        .collect();
    let files = programs.iter().copied().chain(config).map(PathBuf::from);
    foreign.extend(files.filter_map(|path| self::foreign(&path, true)));
    if trust || foreign.is_empty() {
        return Ok(());
    }
    Err(ExecuteError::Usage(format!(
        "{}; nothing was started. Resuming starts, with the privileges of user {}, {}; if you trust the author of the log, add --trust",
        foreign.join("; "),
        effective_uid(),
        started.join("; ")
    )))
}

fn programs_of(plan: &Plan) -> Vec<&str> {
    let mut named: Vec<&str> = plan
        .cells
        .iter()
        .filter_map(|cell| cell.conditions.program.as_deref())
        .collect();
    named.sort_unstable();
    named.dedup();
    named
}

/// A phrase that names who other than the user could have written a file; a file of root may be
/// allowed.
fn foreign(path: &Path, of_root: bool) -> Option<String> {
    // The code that needs a missing file reports it.
    let facts = fs::metadata(path).ok()?;
    let (own, path) = (effective_uid(), path.display());
    if facts.uid() != own && !(of_root && facts.uid() == 0) {
        return Some(format!("{path} belongs to user {}", facts.uid()));
    }
    (facts.mode() & WRITABLE_BY_ALL != 0).then(|| format!("{path} may be written by every user"))
}
