//! What a process that reads what foreign hosts send gives up, and what remains, read back from the kernel.

use std::fs::File;
use std::io::Read;

use bitcost_model::Unavailable;
use bitcost_sys::landlock;
use bitcost_sys::privileges::{
    NOBODY, become_user, drop_capabilities, empty_bounding_set, hide_memory, no_new_privileges,
};
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::{Also, restrict};

const STATUS_BYTES_MAX: u64 = 64 << 10;

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
    let status = std::fs::read_to_string("/proc/self/status")
        .map_err(|error| failed("read /proc/self/status", error))?;
    match (capabilities(&status), dropped) {
        (Some(0), _) => Ok(()),
        (_, Err(error)) => Err(failed("drop capabilities", error)),
        (_, Ok(())) => Err(Unavailable(
            "capabilities remain that were dropped".to_owned(),
        )),
    }
}

fn failed(what: &str, error: std::io::Error) -> Unavailable {
    Unavailable(format!("cannot {what}: {error}"))
}

/// Gives up the rights of the calling process, files and connections as far as the kernel has Landlock, and all system calls but
/// those of every process and these. Returns a line for people: what it may still do, as its /proc/self/status has it afterwards
/// (proc_pid_status(5)). The process has no other threads yet.
///
/// # Errors
/// A sentence, when it still has capabilities or could get some; that a kernel lacks filters or Landlock is in the result.
pub fn confine(also: Also) -> Result<String, Unavailable> {
    let unreadable = |error| failed("read /proc/self/status", error);
    let mut status = File::open("/proc/self/status").map_err(unreadable)?;
    give_up_rights()?;
    let landlock = landlock::deny_all().ok().flatten();
    // A kernel may be built without filters; what remains is in the result.
    let _ = restrict(also);
    let mut text = String::new();
    let read = status.by_ref().take(STATUS_BYTES_MAX);
    { read }.read_to_string(&mut text).map_err(unreadable)?;
    described(&text, landlock).ok_or_else(|| {
        Unavailable("/proc/self/status does not say which privileges remain".to_owned())
    })
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.map(str::trim)
}

/// The capabilities in effect and those that can be taken into effect, a bit for each.
fn capabilities(status: &str) -> Option<u64> {
    let bits = |name: &str| u64::from_str_radix(field(status, name)?, 16).ok();
    Some(bits("CapEff:")? | bits("CapPrm:")?)
}

/// What remains, in one line; Landlock is absent where the kernel has none, or a filter of system calls forbids it.
fn described(status: &str, landlock: Option<u32>) -> Option<String> {
    // Real, effective, saved, and of files.
    let user = field(status, "Uid:")?.split_whitespace().nth(1)?;
    let capabilities = match capabilities(status)? {
        0 => "no capabilities".to_owned(),
        some => format!("capabilities {some:x}"),
    };
    let no_new_privileges = match field(status, "NoNewPrivs:")? {
        "1" => "no_new_privs",
        _ => "not no_new_privs",
    };
    let calls = match field(status, "Seccomp:") {
        Some("2") => "system calls filtered",
        _ => "system calls not filtered",
    };
    let landlock = match landlock {
        Some(version) => format!("Landlock ABI {version}"),
        None => "Landlock not available".to_owned(),
    };
    Some(format!(
        "user {user}, {capabilities}, {no_new_privileges}, {calls}, {landlock}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_read_from_the_status() {
        let status = "Name:\tx\nUid:\t1\t65534\t1\t1\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
            NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        assert_eq!(
            described(status, Some(4)).as_deref(),
            Some(
                "user 65534, no capabilities, no_new_privs, system calls filtered, Landlock ABI 4"
            )
        );
        let root = status
            .replace("65534", "0")
            .replace("CapEff:\t0", "CapEff:\t1");
        let root = described(&root.replace("Seccomp:\t2", "Seccomp:\t0"), None);
        assert_eq!(
            root.as_deref(),
            Some(
                "user 0, capabilities 1000000000000000, no_new_privs, system calls not filtered, Landlock not available"
            )
        );
        assert_eq!(described("Uid:\t0", None), None);
    }
}
