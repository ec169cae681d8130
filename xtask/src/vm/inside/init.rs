//! The machine's first process: mounts what programs expect, starts the checks, reaps processes,
//! and powers off.

use std::ffi::CString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use rustix::mount::{MountFlags, mount};
use rustix::process::{WaitOptions, wait};
use rustix::system::{RebootCommand, reboot, sethostname};

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
        eprintln!("init: {error}");
    }
    rustix::fs::sync();
    let outcome = reboot(RebootCommand::PowerOff);
    eprintln!("init: cannot switch off: {outcome:?}");
    ExitCode::FAILURE
}

fn work() -> std::io::Result<()> {
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
    sethostname(b"vm")?;
    fs::write("/proc/sys/kernel/printk", "4")?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(super::wanted::CHECKS)
        .env_clear()
        .env("PATH", "/bin:/sbin")
        .env("HOME", "/root")
        .env("RUST_BACKTRACE", "1");
    let child = command.spawn()?;
    // A process that loses its parent becomes a child of this process.
    while let Some((pid, _)) = wait(WaitOptions::empty())? {
        if pid.as_raw_nonzero().get().unsigned_abs() == child.id() {
            break;
        }
    }
    Ok(())
}
