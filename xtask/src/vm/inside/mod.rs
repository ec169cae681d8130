//! The part that runs in a machine: its first process, which mounts what programs expect, starts the checks, reaps processes, and
//! powers off; and the checks.

mod checks;
mod guest;
mod pair;
mod port;

use std::ffi::CString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::ExitCode;

use anyhow::Result;
use guest::program;
use rustix::mount::{MountFlags, mount};
use rustix::process::{WaitOptions, wait};
use rustix::system::{RebootCommand, reboot, sethostname};

pub use pair::table::PROGRAM;
pub use port::{BOOT_OTHER, CUT_LINK, END, FAILED, HOLDS, JOIN_LINK, Role};

/// The name under which the first process starts the checks.
const CHECKS: &str = "vm-checks";

/// The function of this process if it runs in a machine; `None` elsewhere.
pub fn role() -> Option<fn() -> ExitCode> {
    match std::env::args().next()?.as_str() {
        CHECKS => Some(checked),
        pair::table::PROGRAM => Some(|| exit_code(pair::table::print())),
        _ => (std::process::id() == 1).then_some(first_process as fn() -> ExitCode),
    }
}

fn checked() -> ExitCode {
    exit_code(match Role::here() {
        Role::Alone => port::make(checks::CHECKS, |found| found),
        _ => pair::work(),
    })
}

fn exit_code(outcome: Result<()>) -> ExitCode {
    if let Err(error) = outcome {
        eprintln!("checks: {error:#}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// The mounts, with their places and options.
const MOUNTS: [(&str, &str, &str); 4] = [
    ("proc", "/proc", ""),
    ("sysfs", "/sys", ""),
    ("devtmpfs", "/dev", ""),
    ("tmpfs", "/tmp", "mode=1777"),
];

/// Does not return: the machine powers off.
fn first_process() -> ExitCode {
    if let Err(error) = until_checked() {
        eprintln!("init: {error:#}");
    }
    rustix::fs::sync();
    let outcome = reboot(RebootCommand::PowerOff);
    eprintln!("init: cannot switch off: {outcome:?}");
    ExitCode::FAILURE
}

fn until_checked() -> Result<()> {
    for (kind, place, options) in MOUNTS {
        let options = CString::new(options)?;
        let options = Some(options.as_c_str());
        mount(kind, place, kind, MountFlags::empty(), options)?;
    }
    fs::write("/proc/sys/kernel/printk", "4")?;
    let role = Role::here();
    sethostname(role.name().as_bytes())?;
    if role != Role::Alone {
        pair::set_up(role)?;
    }
    let child = match role {
        // It ends when the other machine orders the kernel to power off.
        Role::Far => program("/bin/sleep").arg("infinity").spawn()?,
        _ => program("/proc/self/exe").arg0(CHECKS).spawn()?,
    };
    // A process that loses its parent becomes a child of this process.
    while let Some((pid, _)) = wait(WaitOptions::empty())? {
        if pid.as_raw_nonzero().get().unsigned_abs() == child.id() {
            break;
        }
    }
    Ok(())
}
