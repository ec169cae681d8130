//! What a process that reads what foreign hosts send gives up: its user, its capabilities and the ways to get others, and all
//! system calls, files and connections but those that it needs.
//!
//! All of it concerns the calling thread and the threads that it starts later, so it is done before there are others.

use std::io;

use bitcost_model::Unavailable;
use bitcost_sys::landlock;
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::{Also, restrict};
use rustix::process::{
    DumpableBehavior, Gid, Resource, Rlimit, Uid, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

/// The user and group that own nothing (`nobody`; the kernel's overflow id, /proc/sys/kernel/overflowuid).
pub const NOBODY: u32 = 65534;

/// Gives up the calling process's user root, its capabilities and the ways to get others, and hides its memory from others of its
/// user. The process has no other threads yet.
pub fn give_up_rights() -> Result<(), Unavailable> {
    // Without CAP_SETPCAP they stay, and with no_new_privs no program gets anything by them.
    for number in 0..u64::BITS {
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number));
    }
    if effective_uid() == 0 {
        // A user namespace may have no other user; it has no capabilities afterwards all the same.
        let _ = become_nobody();
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    // A filter of system calls may refuse it though there are none; what counts is what remains.
    let dropped = clear_ambient_capability_set().and_then(|()| set_capabilities(None, none));
    set_no_new_privs(true).map_err(failed("set no_new_privs"))?;
    hide_memory().map_err(failed("hide memory from other processes"))?;
    let left = capabilities(None).map_err(failed("read its capabilities"))?;
    match (left.effective | left.permitted).is_empty() {
        true => Ok(()),
        false => {
            dropped.map_err(failed("drop capabilities"))?;
            Err(Unavailable(
                "capabilities remain that were dropped".to_owned(),
            ))
        }
    }
}

fn failed<E: Into<io::Error>>(what: &str) -> impl FnOnce(E) -> Unavailable {
    move |error| Unavailable(format!("cannot {what}: {}", error.into()))
}

/// Becomes the user and group [`NOBODY`] for good, in no other group; with the id 0 in effect this also takes the capabilities
/// (capabilities(7)).
fn become_nobody() -> rustix::io::Result<()> {
    set_thread_groups(&[])?;
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

/// No process of the same user may read this one's memory, and no core file is written (`PR_SET_DUMPABLE`, prctl(2)).
fn hide_memory() -> rustix::io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    limit(Resource::Core, 0)
}

/// Limits what this process may take of a resource, for good.
pub fn limit(resource: Resource, most: u64) -> rustix::io::Result<()> {
    let present = rustix::process::getrlimit(resource);
    let most = present.maximum.map_or(most, |maximum| maximum.min(most));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    setrlimit(resource, limit)
}

/// Gives up the rights of the calling process, files and connections as far as the kernel has Landlock, and all system calls but
/// those of every process and these. Returns a line for people: what it may still do. The process has no other threads yet.
///
/// # Errors
/// A sentence, when it still has capabilities or could get some; that a kernel lacks filters or Landlock is in the result.
pub fn confine(also: Also) -> Result<String, Unavailable> {
    give_up_rights()?;
    let user = effective_uid();
    let landlock = match landlock::deny_all() {
        Ok(Some(version)) => format!("Landlock ABI {version}"),
        _ => "Landlock not available".to_owned(),
    };
    let filtered = match restrict(also) {
        Ok(()) => "filtered",
        Err(_) => "not filtered",
    };
    Ok(format!(
        "user {user}, no capabilities, no_new_privs, system calls {filtered}, {landlock}"
    ))
}
