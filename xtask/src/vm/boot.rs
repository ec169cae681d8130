//! Starts the machine, reads its reports, and ends it in any case.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The emulator, of Debian's package qemu-system-x86.
pub const EMULATOR: &str = "qemu-system-x86_64";

/// The machine to start.
pub struct Machine<'a> {
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The archive with its files.
    pub initramfs: &'a Path,
    /// The file for the kernel's output.
    pub console: &'a Path,
    /// The time after which it is killed.
    pub limit: Duration,
}

/// Lines of the console that are shown if the machine did not power off.
const CONSOLE_LINES: usize = 30;

/// Runs the machine and passes each line of its second serial port to `hear`. Returns when it is
/// off.
///
/// # Errors
/// When it cannot be started, or is not off in time; then with the end of its console.
pub fn run(machine: &Machine, mut hear: impl FnMut(&str)) -> Result<()> {
    let mut child = Killed(command(machine).spawn().context(EMULATOR)?);
    let lines = lines_of(&mut child.0)?;
    let end = Instant::now() + machine.limit;
    loop {
        match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
            Ok(line) => hear(line.trim()),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                bail!(
                    "the machine was not done after {:?}; its console:\n{}",
                    machine.limit,
                    tail(machine.console)
                )
            }
        }
    }
    // Its port is closed, so it ends now.
    let status = child.0.wait()?;
    if !status.success() {
        bail!(
            "{EMULATOR}: {status}; the console:\n{}",
            tail(machine.console)
        );
    }
    Ok(())
}

fn command(machine: &Machine) -> Command {
    let mut command = Command::new(EMULATOR);
    command.args([
        "-nodefaults",
        "-no-user-config",
        "-no-reboot",
        "-display",
        "none",
    ]);
    command.args([
        "-machine", "pc", "-cpu", "max", "-accel", "tcg", "-smp", "1", "-m", "1024",
    ]);
    // The guest's clock counts its instructions, so that a busy host makes it slower and not wrong.
    command.args(["-icount", "shift=0,sleep=off"]);
    command
        .arg("-kernel")
        .arg(machine.kernel)
        .arg("-initrd")
        .arg(machine.initramfs);
    command.args([
        "-append",
        "console=ttyS0 panic=-1 rdinit=/init quiet loglevel=4",
    ]);
    command
        .arg("-serial")
        .arg(format!("file:{}", machine.console.display()));
    command.args(["-serial", "stdio"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

fn lines_of(child: &mut Child) -> Result<mpsc::Receiver<String>> {
    let output = child.stdout.take().context("no output")?;
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output
            .read_until(b'\n', &mut line)
            .is_ok_and(|length| length > 0)
        {
            if send
                .send(String::from_utf8_lossy(&line).into_owned())
                .is_err()
            {
                break;
            }
            line.clear();
        }
    });
    Ok(receive)
}

/// The end of the kernel's output.
pub fn tail(console: &Path) -> String {
    let text = fs::read(console)
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
}

/// Whether a program is on the path.
pub fn find(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders)
        .chain([PathBuf::from("/usr/sbin"), PathBuf::from("/sbin")])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// A process that is killed when this is dropped.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
