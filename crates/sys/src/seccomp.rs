//! A filter of system calls (seccomp(2), kernel doc: userspace-api/seccomp_filter): those that are named are made, all others
//! fail with `EPERM`, or with `ENOSYS` where a C library then uses an older one.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, Error, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch, apply_filter,
};

/// The calls of every process: it reads and writes what is open, waits, takes memory that is not executable, and ends.
const BASE: &[c_long] = &[
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_shutdown,
    libc::SYS_close,
    libc::SYS_ppoll,
    libc::SYS_fcntl,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_futex,
    libc::SYS_brk,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_rt_sigreturn,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigaction,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_sched_yield,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_exit,
    libc::SYS_exit_group,
];

/// What may be asked of an open file by ioctl(2): not to block, whether it is a terminal, and how wide that is. Others could type
/// into the terminal of whoever started the process.
const REQUESTS: &[libc::Ioctl] = &[libc::FIONBIO, libc::TCGETS, libc::TIOCGWINSZ];

/// What a process with a filter may do besides using what it has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Also {
    /// Nothing.
    Nothing,
    /// Start threads, make sockets of IP and accept connections, and measure CPU time.
    Traffic,
}

impl Also {
    fn calls(self) -> &'static [c_long] {
        match self {
            Also::Nothing => &[],
            Also::Traffic => &[
                libc::SYS_set_robust_list,
                libc::SYS_rseq,
                libc::SYS_bind,
                libc::SYS_listen,
                libc::SYS_connect,
                libc::SYS_accept4,
                libc::SYS_recvmmsg,
                libc::SYS_sendmmsg,
                libc::SYS_sendfile,
                libc::SYS_memfd_create,
                libc::SYS_getrusage,
                libc::SYS_sched_setaffinity,
                libc::SYS_sched_getaffinity,
                libc::SYS_prctl,
                libc::SYS_tgkill,
            ],
        }
    }
}

/// From now on the calling thread, and those that it starts, may make the system calls of every process and these; a call
/// of another architecture ends the process. Needs `no_new_privs`.
///
/// # Errors
/// `EINVAL` from a kernel without filters, `Unsupported` on an architecture whose numbers are not known here.
pub fn restrict(also: Also) -> io::Result<()> {
    let architecture: TargetArch = std::env::consts::ARCH
        .try_into()
        .map_err(|_| io::ErrorKind::Unsupported)?;
    let installed = filters(architecture, also)
        .map_err(Error::Backend)
        .and_then(|filters| filters.iter().try_for_each(|filter| apply_filter(filter)));
    installed.map_err(|error| match error {
        Error::Seccomp(error) | Error::Prctl(error) => error,
        other => io::Error::other(other),
    })
}

/// Two programs, of which the kernel takes the stricter answer: the first has clone3 fail with `ENOSYS`, whereupon the C library starts
/// threads by clone, whose flags a filter can see; the second allows what is named.
fn filters(
    architecture: TargetArch,
    also: Also,
) -> Result<[BpfProgram; 2], seccompiler::BackendError> {
    let program = |calls: Vec<(c_long, Vec<SeccompRule>)>, otherwise, named| {
        let calls: BTreeMap<i64, Vec<SeccompRule>> = calls.into_iter().collect();
        SeccompFilter::new(calls, otherwise, named, architecture)?.try_into()
    };
    let errno = |error: libc::c_int| SeccompAction::Errno(error.unsigned_abs());
    let clone3 = (libc::SYS_clone3, Vec::new());
    let mut allowed = vec![clone3.clone()];
    let plain = BASE.iter().chain(also.calls());
    allowed.extend(plain.map(|call| (*call, Vec::new())));
    // Memory that is or becomes executable is none of theirs: mmap and mprotect have its protection in their third argument.
    let executable = libc::PROT_EXEC as u64;
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        let is_data = argument(2, SeccompCmpOp::MaskedEq(executable), 0)?;
        allowed.push((call, vec![is_data]));
    }
    // The request is the second argument.
    let requests = REQUESTS.iter();
    let requests =
        requests.map(|request| argument(1, SeccompCmpOp::Eq, u64::from(*request as u32)));
    allowed.push((libc::SYS_ioctl, requests.collect::<Result<_, _>>()?));
    if also == Also::Traffic {
        let thread = libc::CLONE_THREAD as u64;
        let is_thread = argument(0, SeccompCmpOp::MaskedEq(thread), thread)?;
        allowed.push((libc::SYS_clone, vec![is_thread]));
        let families = [libc::AF_INET, libc::AF_INET6].into_iter();
        let families = families.map(|family| argument(0, SeccompCmpOp::Eq, family as u64));
        allowed.push((libc::SYS_socket, families.collect::<Result<_, _>>()?));
    }
    let no_clone3 = program(vec![clone3], SeccompAction::Allow, errno(libc::ENOSYS))?;
    let named = program(allowed, errno(libc::EPERM), SeccompAction::Allow)?;
    Ok([no_clone3, named])
}

/// That the lower half of an argument compares so.
fn argument(
    number: u8,
    how: SeccompCmpOp,
    with: u64,
) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(number, SeccompCmpArgLen::Dword, how, with)?;
    SeccompRule::new(vec![condition])
}
