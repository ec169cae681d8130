//! The machine's first process: mounts what programs expect, starts the checks, reaps processes,
//! and powers off.

use std::ffi::CString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::mount::{MountFlags, mount};
use rustix::process::{WaitOptions, wait};
use rustix::system::{RebootCommand, reboot, sethostname};

use super::wanted::{CHECKS, COST, PAIR, Role};

/// The mounts, with their places and options.
const MOUNTS: [(&str, &str, &str); 4] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("tmpfs", "/tmp", "mode=1777"),
];

/// Does not return: the machine powers off.
pub fn main() -> ExitCode {
    if let Err(error) = work() {
        eprintln!("init: {error:#}");
    }
    rustix::fs::sync();
    let outcome = reboot(RebootCommand::PowerOff);
    eprintln!("init: cannot switch off: {outcome:?}");
    ExitCode::FAILURE
}

fn work() -> anyhow::Result<()> {
    for (kind, place, options) in MOUNTS {
        let options = CString::new(options)?;
        mount(
            kind,
            place,
            kind,
            MountFlags::empty(),
            Some(options.as_c_str()),
        )?;
    }
    fs::write("/proc/sys/kernel/printk", "4")?;
    let role = Role::here();
    sethostname(role.map_or("vm", Role::name).as_bytes())?;
    if let Some(role @ (Role::Near | Role::Far)) = role {
        super::pair::set_up(role, program)?;
    }
    let mut checks = match role {
        None => program("/proc/self/exe", CHECKS),
        Some(Role::Cost) => program("/proc/self/exe", COST),
        Some(Role::Near) => program("/proc/self/exe", PAIR),
        // It ends when the other machine orders the kernel to power off.
        Some(Role::Far) => program("/bin/sleep", "sleep"),
    };
    if role == Some(Role::Far) {
        checks.arg("infinity");
    }
    let child = checks.spawn()?;
    // A process that loses its parent becomes a child of this process.
    while let Some((pid, _)) = wait(WaitOptions::empty())? {
        if pid.as_raw_nonzero().get().unsigned_abs() == child.id() {
            break;
        }
    }
    Ok(())
}

/// A program with the environment of the machine, under this name.
fn program(path: &str, name: &str) -> Command {
    let mut command = Command::new(path);
    command
        .arg0(name)
        .env_clear()
        .env("PATH", "/bin:/sbin")
        .env("HOME", "/root")
        .env("RUST_BACKTRACE", "1");
    command
}
