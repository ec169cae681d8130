//! A filter of system calls (seccomp(2), kernel doc: userspace-api/seccomp_filter): those that are named are made, all others
//! fail with `EPERM`, or with `ENOSYS` where a C library then uses an older one.

use std::io;

use libc::{
    BPF_ABS, BPF_JEQ, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W, SECCOMP_RET_ALLOW,
    SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, c_long, sock_filter,
};

use crate::outcome::checked;

/// `AUDIT_ARCH_*` (linux/audit.h) of the system calls that this program makes.
#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: Option<u32> = Some(0xc000_00b7);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const ARCHITECTURE: Option<u32> = None;

/// Where `struct seccomp_data` has the number of the call, the architecture and the lower half of the arguments, on
/// a little-endian machine.
const NUMBER: u32 = 0;
const AUDIT_ARCH: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

/// The bit of memory that programs may be in (`PROT_EXEC`, mmap(2)).
const EXECUTABLE: u32 = libc::PROT_EXEC as u32;

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

/// The older call of musl's fork, which only x86-64 has.
#[cfg(target_arch = "x86_64")]
const FORK: c_long = libc::SYS_fork;
#[cfg(not(target_arch = "x86_64"))]
const FORK: c_long = libc::SYS_clone;

/// What a process with a filter may do besides using what it has open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Also {
    /// Nothing.
    Nothing,
    /// Start copies of itself, and restrict them and itself further.
    Copies,
    /// Start threads, make and accept sockets, and measure CPU time.
    Traffic,
}

impl Also {
    fn calls(self) -> &'static [c_long] {
        match self {
            Also::Nothing => &[],
            Also::Copies => &[
                libc::SYS_clone,
                FORK,
                libc::SYS_set_robust_list,
                libc::SYS_set_tid_address,
                libc::SYS_rseq,
                libc::SYS_prctl,
                libc::SYS_prlimit64,
                libc::SYS_getppid,
            ],
            Also::Traffic => &[
                libc::SYS_clone,
                libc::SYS_set_robust_list,
                libc::SYS_rseq,
                libc::SYS_socket,
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
    let architecture = ARCHITECTURE.ok_or(io::ErrorKind::Unsupported)?;
    let mut program = filter(architecture, also);
    let length = program.len() as libc::c_ushort;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: `program` and the instructions that it points to outlive the call, which copies them.
    checked(unsafe {
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER as libc::c_ulong,
            &raw const program,
        )
    })?;
    Ok(())
}

/// The program: each call that is allowed is compared in turn.
fn filter(architecture: u32, also: Also) -> Vec<sock_filter> {
    let mut program = vec![
        load(AUDIT_ARCH),
        jump(BPF_JEQ, architecture, 1, 0),
        done(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    for call in BASE.iter().chain(also.calls()) {
        program.extend([jump(BPF_JEQ, *call as u32, 0, 1), done(SECCOMP_RET_ALLOW)]);
    }
    // Memory that is or becomes executable is none of theirs: mmap and mprotect have its protection in their third argument.
    for call in [libc::SYS_mmap, libc::SYS_mprotect] {
        program.extend([
            jump(BPF_JEQ, call as u32, 0, 4),
            load(argument(2)),
            jump(BPF_JSET, EXECUTABLE, 1, 0),
            done(SECCOMP_RET_ALLOW),
            done(refusal(libc::EPERM)),
        ]);
    }
    // The request is the second argument.
    let requests = REQUESTS.len() as u8;
    program.extend([
        jump(BPF_JEQ, libc::SYS_ioctl as u32, 0, 2 * requests + 2),
        load(argument(1)),
    ]);
    for request in REQUESTS {
        program.extend([
            jump(BPF_JEQ, *request as u32, 0, 1),
            done(SECCOMP_RET_ALLOW),
        ]);
    }
    program.push(done(refusal(libc::EPERM)));
    // The C library starts threads by clone where there is no clone3, whose flags a filter cannot see.
    program.extend([
        jump(BPF_JEQ, libc::SYS_clone3 as u32, 0, 1),
        done(refusal(libc::ENOSYS)),
        done(refusal(libc::EPERM)),
    ]);
    program
}

fn refusal(error: libc::c_int) -> u32 {
    SECCOMP_RET_ERRNO | error as u32
}

fn load(at: u32) -> sock_filter {
    instruction(BPF_LD | BPF_W | BPF_ABS, at, 0, 0)
}

fn jump(condition: u32, with: u32, if_so: u8, otherwise: u8) -> sock_filter {
    instruction(BPF_JMP | condition | BPF_K, with, if_so, otherwise)
}

fn done(action: u32) -> sock_filter {
    instruction(BPF_RET | BPF_K, action, 0, 0)
}

fn instruction(code: u32, k: u32, jt: u8, jf: u8) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    }
}
