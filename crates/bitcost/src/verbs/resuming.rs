//! What `run --resume` checks before it starts anything: a log may come from a stranger, and names hosts and programs.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use model::event::{EndDescription, Event};
use model::machine::HostDescription;
use model::plan::Plan;
use sys::process::effective_uid;

use super::run::same_machines;
use super::where_to::Where;
use crate::failure::Failure;
use crate::programs::{self, Programs};
use crate::{hosts, output};

/// Bits of a file's mode by which everybody may write it (inode(7)).
const WRITABLE_BY_ALL: u32 = 0o002;

/// Says what the log has started, and refuses it where others than the user could have written that, unless `trust`.
///
/// # Errors
/// Usage, with what would be started and the option that allows it.
pub fn allow(folder: &Path, place: &Where, plan: &Plan, trust: bool) -> Result<(), Failure> {
    let named = match place {
        Where::Hosts(named) => Some(&**named),
        Where::Lab => None,
    };
    let programs = programs_of(plan);
    let mut started = vec![named.map_or("agents in the embedded lab".to_owned(), hosts::Named::started)];
    if !programs.is_empty() {
        started.push(format!("the programs {}", programs.join(", ")));
    }
    if named.is_some() || !programs.is_empty() {
        output::say(&format!("the log names what is started: {}", started.join("; ")));
    }
    let config = named.and_then(|named| named.spec.ssh_config.as_deref());
    let mut foreign: Vec<String> =
        [folder.to_owned(), folder.join(store::LOG_NAME)].iter().filter_map(|path| foreign(path, false)).collect();
    let files = programs.iter().copied().chain(config).map(PathBuf::from);
    foreign.extend(files.filter_map(|path| self::foreign(&path, true)));
    if trust || foreign.is_empty() {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{}; nothing was started: to go on starts, with the rights of user {}, {}; if you trust who wrote that, add --trust",
        foreign.join("; "),
        effective_uid(),
        started.join("; ")
    )))
}

/// Checks all that can be checked of programs and machines without starting anything.
///
/// # Errors
/// When a program or this machine is not the one of the execution, as after the start.
pub fn check(before: Option<&Event>, place: &Where, plan: &Plan) -> Result<Programs, Failure> {
    let programs = Programs::open(plan)?;
    if let Some(Event::Prepared { ends, hosts, programs: played, .. }) = before {
        programs::same(played, &programs.used()?)?;
        let is_here = |index: usize| match place {
            Where::Lab => true,
            Where::Hosts(named) => named.is_local(index),
        };
        let indexed = ends.iter().enumerate().filter(|(index, _)| is_here(*index));
        let here: Vec<EndDescription> = indexed.map(|(_, end)| end.clone()).collect();
        let now: Vec<EndDescription> = here.iter().map(on_this_machine).collect();
        same_machines(&here, &now, hosts.is_some())?;
    }
    Ok(programs)
}

/// The end as it is now, as far as this process can tell without an agent there: not its network.
fn on_this_machine(end: &EndDescription) -> EndDescription {
    let HostDescription { device, sysctls, governor, bitcost_version, .. } = end.host.clone();
    let host = HostDescription { device, sysctls, governor, bitcost_version, ..probe::host::describe() };
    EndDescription { host, ..end.clone() }
}

/// The programs that cells name, each once.
fn programs_of(plan: &Plan) -> Vec<&str> {
    let mut named: Vec<&str> = plan.cells.iter().filter_map(|cell| cell.conditions.program.as_deref()).collect();
    named.sort_unstable();
    named.dedup();
    named
}

/// Who else than the user could have written a file, in words; a file of root's may be allowed.
fn foreign(path: &Path, of_root: bool) -> Option<String> {
    // What is not there is said by who needs it.
    let facts = fs::metadata(path).ok()?;
    let (own, path) = (effective_uid(), path.display());
    if facts.uid() != own && !(of_root && facts.uid() == 0) {
        return Some(format!("{path} belongs to user {}", facts.uid()));
    }
    (facts.mode() & WRITABLE_BY_ALL != 0).then(|| format!("{path} may be written by every user"))
}
