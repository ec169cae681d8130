//! Processes: dying with the parent, and starting a program inside namespaces.

use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, parent_id};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};

use crate::namespace::{Kind, enter};
use crate::outcome::checked;

/// Has the kernel kill this process (SIGKILL) when the *thread* that started it ends.
///
/// `expected_parent` is the process id of the parent; when it is no longer the parent (it died
/// before the call) the error is `ESRCH`, and the caller should exit. A change of credentials
/// (setns to a user namespace, setuid) clears the setting: call it afterwards.
/// Source: PR_SET_PDEATHSIG(2const).
pub fn die_with_parent(expected_parent: u32) -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // 0 where it is outside of this process's PID namespace (pid_namespaces(7)).
    if parent_id() == expected_parent {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ESRCH))
    }
}

/// Makes `command` start its program so that the kernel kills it (SIGKILL) when the thread that calls `spawn` ends, where
/// the caller's children are in a PID namespace that the caller is not in: in it, they have no parent.
pub fn die_with_spawner_outside(command: &mut Command) {
    // SAFETY: between fork and exec the closure makes only the system calls prctl and getppid, which are
    // async-signal-safe; it allocates nothing and takes no lock.
    unsafe { command.pre_exec(|| die_with_parent(0)) };
}

/// This program, whatever its file is called now (proc_pid_exe(5)).
pub const OWN_PROGRAM: &str = "/proc/self/exe";

const END_POLL: Duration = Duration::from_millis(1);

/// Waits for a process whose input has ended, and kills it where that takes too long.
pub fn end(child: &mut Child, within: Duration) {
    let until = Instant::now() + within;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(END_POLL);
    }
}

/// Makes this process, and the programs that it starts later, ignore a signal (signal(2)). With `SIGCHLD`, children that end
/// leave no zombies.
pub fn ignore(signal: Signal) {
    // SAFETY: SIG_IGN runs no code; for a signal that may not be ignored the call fails.
    unsafe { libc::signal(signal.as_raw(), libc::SIG_IGN) };
}

/// Has `top` and `ps` show this process by the name of the program, also where it was started by another path to it,
/// such as `/proc/self/exe` (PR_SET_NAME(2const)). Call it in the main thread.
pub fn show_as_bitcost() {
    // Without the name the program works as well.
    let _ = rustix::thread::set_name(c"bitcost");
}

/// The id of this process in `/proc`, which is another than [`std::process::id`] where `/proc` belongs to an outer PID namespace.
///
/// # Errors
/// When `/proc/self` cannot be read.
pub fn id_in_proc() -> io::Result<u32> {
    let own = std::fs::read_link("/proc/self")?;
    let id = own.to_str().and_then(|id| id.parse().ok());
    id.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The effective user id of this process; 0 is root of its user namespace.
pub fn effective_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Raises the limit of open files of this process to its hard limit, and returns it; absent: no limit (setrlimit(2),
/// `RLIMIT_NOFILE`).
pub fn raise_open_files() -> io::Result<Option<u64>> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: maximum,
            maximum,
        },
    )?;
    Ok(getrlimit(Resource::Nofile).current)
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

/// Waits until `file` is readable, its writers are gone, or `timeout` has passed.
///
/// Returns whether there is data to read (or the end of the file). poll(2).
pub fn wait_readable(file: impl AsFd, timeout: std::time::Duration) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags};
    let mut files = [PollFd::new(&file, PollFlags::IN)];
    wait_ready(&mut files, Some(timeout))?;
    // A signal also ends the wait.
    Ok(!files[0].revents().is_empty())
}

/// Reads a line from `file`, waiting at most `limit` for all of it.
///
/// # Errors
/// `TimedOut`, and `UnexpectedEof` when the writer is gone before the end of the line.
pub fn read_line(file: &mut (impl Read + AsFd), limit: Duration) -> io::Result<String> {
    let deadline = Instant::now() + limit;
    let mut line = Vec::new();
    let mut chunk = [0; 4096];
    while !line.ends_with(b"\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        if !wait_readable(&*file, left)? {
            continue;
        }
        match file.read(&mut chunk)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => line.extend_from_slice(&chunk[..length]),
        }
    }
    String::from_utf8(line).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// Waits until one of `files` is readable or has ended, or until `timeout` has passed, which is false (ppoll(2)); absent:
/// no timeout. A signal also ends the wait, as if one were ready.
pub fn wait_any(
    files: &[std::os::fd::BorrowedFd<'_>],
    timeout: Option<std::time::Duration>,
) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags};
    let files = files.iter().map(|file| PollFd::new(file, PollFlags::IN));
    wait_ready(&mut files.collect::<Vec<_>>(), timeout)
}

/// Waits until one of these is ready, or until `timeout` has passed, which is false (ppoll(2)); absent: no timeout. A
/// signal also ends the wait, as if one were ready.
pub fn wait_ready(
    files: &mut [rustix::event::PollFd<'_>],
    timeout: Option<std::time::Duration>,
) -> io::Result<bool> {
    use rustix::event::{Timespec, poll};
    let timeout = timeout
        .map(Timespec::try_from)
        .transpose()
        .map_err(|_| io::ErrorKind::InvalidInput)?;
    match poll(files, timeout.as_ref()) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Makes `command` start its program inside the network namespace `net`, in a separate
/// process group (a terminal's Ctrl-C does not reach it), and die with the thread that calls `spawn`.
///
/// `user` is the user namespace that owns `net`; `None` when it is the caller's own. Both stay open as long as `command`
/// exists. A namespace that cannot be entered becomes the error of `spawn`.
pub fn enter_before_exec(command: &mut Command, user: Option<OwnedFd>, net: OwnedFd) {
    let parent = std::process::id();
    command.process_group(0);
    let prepare = move || {
        if let Some(user) = &user {
            enter(user.as_fd(), Kind::User)?;
        }
        enter(net.as_fd(), Kind::Net)?;
        die_with_parent(parent)
    };
    // SAFETY: between fork and exec the closure makes only the system calls setns, prctl and
    // getppid, which are async-signal-safe; it allocates nothing and takes no lock
    // (`io::Error` from an error number is a plain value).
    unsafe { command.pre_exec(prepare) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spawn_fails_for_a_namespace_that_cannot_be_entered() {
        let not_a_namespace = std::fs::File::open("/dev/null").unwrap();
        let mut command = Command::new("true");
        enter_before_exec(&mut command, None, not_a_namespace.into());
        assert_eq!(
            command.spawn().unwrap_err().raw_os_error(),
            Some(libc::EINVAL)
        );
    }
}
