//! What a process gives up before it reads what foreign hosts send: its user, its capabilities, and the ways to get others.
//!
//! All of it concerns the calling thread and the threads that it starts later, so it is done before there are others.

use std::io;

use rustix::process::{
    DumpableBehavior, Gid, Resource, Rlimit, Uid, set_dumpable_behavior, setrlimit,
};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};

use crate::outcome::checked;

/// The user and group that own nothing (`nobody`; the kernel's overflow id, /proc/sys/kernel/overflowuid).
pub const NOBODY: u32 = 65534;

/// Becomes this user and group for good, in no other group (setgroups(2), setresgid(2), setresuid(2)). With
/// the id 0 in effect this also takes the capabilities (capabilities(7)).
///
/// # Errors
/// `EPERM` without `CAP_SETUID` and `CAP_SETGID`, `EINVAL` in a user namespace without this id; what was done until then
/// remains.
pub fn become_user(id: u32) -> io::Result<()> {
    set_thread_groups(&[])?;
    let group = Gid::from_raw(id);
    set_thread_res_gid(group, group, group)?;
    let user = Uid::from_raw(id);
    Ok(set_thread_res_uid(user, user, user)?)
}

/// Gives up the capabilities that programs with file capabilities could get (the bounding set, capabilities(7)), as far as that is
/// allowed: without `CAP_SETPCAP` they stay, and with [`no_new_privileges`] no program gets anything by them.
pub fn empty_bounding_set() {
    for number in 0..u64::BITS {
        let _ = remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number));
    }
}

/// Gives up every capability in effect, and the ambient ones (capabilities(7)).
///
/// # Errors
/// The error of capset(2), which a filter of system calls may refuse though there was none to give up.
pub fn drop_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    Ok(set_capabilities(
        None,
        CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        },
    )?)
}

/// Whether any capability is in effect, or can be taken into effect (capget(2)).
///
/// # Errors
/// The error of the system call.
pub fn has_capabilities() -> io::Result<bool> {
    let sets = capabilities(None)?;
    Ok(!(sets.effective | sets.permitted).is_empty())
}

/// No program that is started gets more rights than this thread has (`PR_SET_NO_NEW_PRIVS`, prctl(2)).
pub fn no_new_privileges() -> io::Result<()> {
    Ok(set_no_new_privs(true)?)
}

/// No process of the same user may read this one's memory, and no core file is written (`PR_SET_DUMPABLE`, prctl(2)).
pub fn hide_memory() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    limit(Resource::Core, 0)
}

/// Limits what this process may take, for good (setrlimit(2)): bytes of private memory (`RLIMIT_DATA`), descriptors
/// (`RLIMIT_NOFILE`), and no byte in a file (`RLIMIT_FSIZE`).
pub fn limit_resources(memory_bytes: u64, descriptors: u64) -> io::Result<()> {
    limit(Resource::Data, memory_bytes)?;
    limit(Resource::Nofile, descriptors)?;
    limit(Resource::Fsize, 0)
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let present = rustix::process::getrlimit(resource);
    let most = present.maximum.map_or(most, |maximum| maximum.min(most));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(resource, limit)?)
}

/// Closes all descriptors but the three standard ones (close_range(2), Linux 5.9): for a program that has just started and has
/// opened none.
///
/// # Errors
/// `ENOSYS` from an older kernel.
pub fn close_inherited() -> io::Result<()> {
    // SAFETY: the call takes numbers alone. A descriptor that Rust code owns is not meant by the contract above; were there one,
    // its later use would be an error of the system call.
    checked(unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, 0u32) })?;
    Ok(())
}
