//! What a process that reads what foreign hosts send gives up, and what remains, read back from the kernel.

use std::fmt;
use std::fs::File;
use std::io::Read;

use bitcost_model::Unavailable;
use bitcost_sys::landlock;
use bitcost_sys::privileges::{
    NOBODY, become_user, drop_capabilities, empty_bounding_set, hide_memory, no_new_privileges,
};
use bitcost_sys::process::effective_uid;
use bitcost_sys::seccomp::{Also, restrict};
use serde::{Deserialize, Serialize};

/// The most bytes of /proc/self/status that are read.
const STATUS_BYTES_MAX: u64 = 64 << 10;

/// What a process may still do, as its /proc/self/status has it afterwards (proc_pid_status(5)).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confined {
    /// The user in effect; 0 is root.
    pub user: u32,
    /// The capabilities in effect, a bit for each.
    pub capabilities: u64,
    /// Those that a program that it starts could get.
    pub bounding: u64,
    /// Whether no program that it starts gets more rights.
    pub no_new_privileges: bool,
    /// Whether a filter checks its system calls.
    pub has_filter: bool,
    /// The version of Landlock that denies it files and TCP connections; absent where the kernel has none, or a filter
    /// of system calls forbids it.
    pub landlock: Option<u32>,
}

/// Gives up the calling process's user root, its capabilities and the ways to get others, and hides its memory from others of its
/// user. The process has no other threads yet.
///
/// # Errors
/// A sentence, when it still has capabilities or could get some.
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
    let remain = Confined::of_status(&status, None).map(|confined| confined.capabilities);
    match (remain, dropped) {
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
/// those of every process and these. The process has no other threads yet.
///
/// # Errors
/// A sentence, when it still has capabilities or could get some; that a kernel lacks filters or Landlock is in the result.
pub fn confine(also: Also) -> Result<Confined, Unavailable> {
    let unreadable = |error| failed("read /proc/self/status", error);
    let mut status = File::open("/proc/self/status").map_err(unreadable)?;
    give_up_rights()?;
    let landlock = landlock::deny_all().ok().flatten();
    // A kernel may be built without filters; what remains is in the result.
    let _ = restrict(also);
    let mut text = String::new();
    let read = status.by_ref().take(STATUS_BYTES_MAX);
    { read }.read_to_string(&mut text).map_err(unreadable)?;
    Confined::of_status(&text, landlock).ok_or_else(|| {
        Unavailable("/proc/self/status does not say which privileges remain".to_owned())
    })
}

impl Confined {
    fn of_status(text: &str, landlock: Option<u32>) -> Option<Confined> {
        let field = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.map(str::trim)
        };
        let bits = |name: &str| u64::from_str_radix(field(name)?, 16).ok();
        Some(Confined {
            // Real, effective, saved, and of files.
            user: field("Uid:")?.split_whitespace().nth(1)?.parse().ok()?,
            capabilities: bits("CapEff:")? | bits("CapPrm:")?,
            bounding: bits("CapBnd:")?,
            no_new_privileges: field("NoNewPrivs:")? == "1",
            has_filter: field("Seccomp:").is_some_and(|mode| mode == "2"),
            landlock,
        })
    }
}

/// One line.
impl fmt::Display for Confined {
    fn fmt(&self, into: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(into, "user {}", self.user)?;
        match self.capabilities {
            0 => into.write_str(", no capabilities")?,
            some => write!(into, ", capabilities {some:x}")?,
        }
        into.write_str(match self.no_new_privileges {
            true => ", no_new_privs",
            false => ", not no_new_privs",
        })?;
        into.write_str(match self.has_filter {
            true => ", system calls filtered",
            false => ", system calls not filtered",
        })?;
        match self.landlock {
            Some(version) => write!(into, ", Landlock ABI {version}"),
            None => into.write_str(", Landlock not available"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_is_read_from_the_status() {
        let status = "Name:\tx\nUid:\t1\t65534\t1\t1\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n\
            CapBnd:\t000001ffffffffff\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n";
        let confined = Confined::of_status(status, Some(4)).expect("read");
        assert_eq!((confined.user, confined.bounding), (65534, 0x1ff_ffff_ffff));
        assert_eq!(
            confined.to_string(),
            "user 65534, no capabilities, no_new_privs, system calls filtered, Landlock ABI 4"
        );
        let root = status
            .replace("65534", "0")
            .replace("Seccomp:\t2", "Seccomp:\t0");
        let root = Confined::of_status(&root, None).expect("read");
        assert!(root.to_string().ends_with("Landlock not available"));
        assert_eq!(Confined::of_status("Uid:\t0", None), None);
    }
}
