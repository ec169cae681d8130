//! System calls of a process and of all processes that it starts, each stopped before it is made
//! (ptrace(2)).

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileExt;

use nix::errno::Errno;
use nix::libc::PTRACE_SYSCALL_INFO_ENTRY;
use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// A call that is about to be made.
#[derive(Debug)]
pub struct Call {
    pub process: Pid,
    thread: Pid,
    /// Its number (`nix::libc::SYS_…`).
    pub number: i64,
    arguments: [u64; 3],
}

/// The most bytes that are read of the data of a call.
const SHOWN: u64 = 512;

impl Call {
    /// The file of its first argument: a path, or `socket:[…]`, `pipe:[…]`.
    pub fn file(&self) -> String {
        let link = format!("/proc/{}/fd/{}", self.thread, self.arguments[0] as i32);
        fs::read_link(link)
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// Whether its first argument is this file descriptor.
    pub fn is_of_descriptor(&self, number: u64) -> bool {
        self.arguments[0] == number
    }

    /// The first bytes of its data, for calls like write(2) and send(2).
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.arguments[2].min(SHOWN) as usize];
        let memory = fs::File::open(format!("/proc/{}/mem", self.thread));
        let read = memory.and_then(|memory| memory.read_at(&mut bytes, self.arguments[1]));
        bytes.truncate(read.unwrap_or(0));
        bytes
    }
}

/// Follows a waiting process, and all processes that it starts, until none is left. `ready` lets it
/// continue; its result is kept until the end.
///
/// `on_call` gets each call before it is made, while its thread is stopped.
pub fn follow<T>(
    first: Pid,
    ready: impl FnOnce() -> Result<T, String>,
    on_call: &mut dyn FnMut(&Call),
) -> Result<(), String> {
    let failed =
        |error: Errno| format!("cannot follow process {first}: {error}; this needs ptrace");
    // No followed process is left, whatever happens here.
    let options = Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::seize(first, options).map_err(failed)?;
    ptrace::interrupt(first).map_err(failed)?;
    let _kept = ready()?;
    let mut processes = HashMap::new();
    loop {
        // Only processes that this thread follows, not other children of this process.
        let status = match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD)) {
            Ok(status) => status,
            Err(Errno::ECHILD) => return Ok(()),
            Err(Errno::EINTR) => continue,
            Err(error) => return Err(failed(error)),
        };
        let (thread, signal) = match status {
            WaitStatus::PtraceSyscall(thread) => {
                if let Some(call) = entered(thread, &mut processes) {
                    on_call(&call);
                }
                (thread, None)
            }
            WaitStatus::PtraceEvent(thread, ..) => (thread, None),
            WaitStatus::Stopped(thread, signal) => (thread, Some(signal)),
            _ => continue,
        };
        // A process that was killed meanwhile cannot be continued, and its end is reported.
        let _ = ptrace::syscall(thread, signal);
    }
}

/// The call that a thread is about to make; `None` at the end of one.
fn entered(thread: Pid, processes: &mut HashMap<Pid, Pid>) -> Option<Call> {
    if ptrace::syscall_info(thread).ok()?.op != PTRACE_SYSCALL_INFO_ENTRY {
        return None;
    }
    // Number and arguments in hexadecimal, the number itself in decimal (proc_pid_syscall(5)).
    let text = fs::read_to_string(format!("/proc/{thread}/syscall")).ok()?;
    let mut words = text.split_ascii_whitespace();
    let number = words.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(words.next()?.trim_start_matches("0x"), 16).ok();
    let arguments = [argument()?, argument()?, argument()?];
    let process = *processes
        .entry(thread)
        .or_insert_with(|| process_of(thread).unwrap_or(thread));
    Some(Call {
        process,
        thread,
        number,
        arguments,
    })
}

fn process_of(thread: Pid) -> Option<Pid> {
    let text = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let group = text.lines().find_map(|line| line.strip_prefix("Tgid:"))?;
    Some(Pid::from_raw(group.trim().parse().ok()?))
}
