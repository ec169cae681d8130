//! The system call bpf(2), and its errors.

use std::fmt;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

use crate::outcome::checked;

/// A command of bpf(2) with its part of `union bpf_attr`, whose other bytes are 0.
///
/// # Safety
/// `NUMBER` is the command that reads this layout, and every address in a value is of memory that the kernel may read or
/// write as the command does, for the length of the call.
pub(super) unsafe trait Command {
    /// Its number (`enum bpf_cmd`).
    const NUMBER: libc::c_long;
    /// Its name in errors.
    const NAME: &'static str;
}

/// A call of bpf(2) that the kernel refused.
#[derive(Debug)]
pub struct BpfError {
    /// The command.
    pub call: &'static str,
    /// The error of the system call.
    pub error: io::Error,
    /// What the verifier said of a program; empty where it said nothing.
    pub log: String,
}

impl fmt::Display for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bpf({}): {}", self.call, self.error)?;
        match self.log.trim() {
            "" => Ok(()),
            log => write!(f, "; the verifier said: {log}"),
        }
    }
}

impl std::error::Error for BpfError {}

/// Makes the call; returns what it answers.
pub(super) fn call<C: Command>(command: &C) -> Result<libc::c_long, BpfError> {
    // SAFETY: the layout is that of the command and `size_of` bytes long, and its addresses are valid for the call
    // (`Command`). The kernel only reads the attributes of these commands.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            C::NUMBER,
            (&raw const *command),
            size_of::<C>(),
        )
    };
    checked(answer).map_err(|error| BpfError {
        call: C::NAME,
        error,
        log: String::new(),
    })
}

/// Makes a call that answers with a new descriptor, which is closed on exec.
pub(super) fn open<C: Command>(command: &C) -> Result<OwnedFd, BpfError> {
    let answer = call(command)?;
    // SAFETY: the call succeeded, so its answer is a descriptor (an int) that the kernel has just made for the caller.
    Ok(unsafe { OwnedFd::from_raw_fd(answer as libc::c_int) })
}
