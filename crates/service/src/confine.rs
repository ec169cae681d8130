//! What a process that reads what foreign hosts send gives up.

use bitcost_model::Unavailable;
use bitcost_sys::landlock;
use bitcost_sys::privileges::{
    NOBODY, become_user, drop_capabilities, empty_bounding_set, has_capabilities, hide_memory,
    no_new_privileges,
};
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::{Also, restrict};

/// Gives up the calling process's user root, its capabilities and the ways to get others, and hides its memory from others of its
/// user. The process has no other threads yet.
pub fn give_up_rights() -> Result<(), Unavailable> {
    empty_bounding_set();
    if effective_uid() == 0 {
        // A user namespace may have no other user; it has no capabilities afterwards all the same.
        let _ = become_user(NOBODY);
    }
    // A filter of system calls may refuse it though there are none; what counts is what remains.
    let dropped = drop_capabilities();
    no_new_privileges().map_err(|error| failed("set no_new_privs", error))?;
    hide_memory().map_err(|error| failed("hide memory from other processes", error))?;
    match (has_capabilities(), dropped) {
        (Ok(false), _) => Ok(()),
        (_, Err(error)) | (Err(error), _) => Err(failed("drop capabilities", error)),
        (Ok(true), Ok(())) => Err(Unavailable(
            "capabilities remain that were dropped".to_owned(),
        )),
    }
}

fn failed(what: &str, error: std::io::Error) -> Unavailable {
    Unavailable(format!("cannot {what}: {error}"))
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
