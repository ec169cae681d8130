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
const EMULATOR: &str = "qemu-system-x86_64";

/// The machine to start.
pub struct Machine<'a> {
    /// The kernel's image.
    pub kernel: &'a Path,
    /// The archive with its files.
    pub initramfs: &'a Path,
    /// The file for the kernel's output.
    pub console: &'a Path,
    /// What its clock counts.
    pub clock: Clock,
    /// The number of its CPUs.
    pub cpus: u32,
    /// Words of the emulator for more devices.
    pub devices: Vec<String>,
    /// Words for the end of the kernel's command line.
    pub words: &'a str,
    /// The time after which it is killed.
    pub limit: Duration,
}

/// What the clock of a machine counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Its instructions, a nanosecond each, so that a busy host makes it slower and not wrong. Time
    /// in which it is idle passes at once.
    Instructions,
    /// The host's time, which it needs to speak with another machine.
    Host,
}

/// Lines of the console that are shown if the machine did not power off.
const CONSOLE_LINES: usize = 30;

/// A machine that was started; it is killed when this is dropped.
pub struct Running {
    child: Killed,
    lines: mpsc::Receiver<String>,
    console: PathBuf,
    limit: Duration,
    end: Instant,
}

/// Starts the machine.
pub fn start(machine: &Machine) -> Result<Running> {
    let mut child = Killed(command(machine).spawn().context(EMULATOR)?);
    Ok(Running {
        lines: lines_of(&mut child.0)?,
        child,
        console: machine.console.to_owned(),
        limit: machine.limit,
        end: Instant::now() + machine.limit,
    })
}

impl Running {
    /// Passes each line of its second serial port to `hear`. Returns when it is off.
    ///
    /// # Errors
    /// Those of `hear`, and when it is not off in time; then with the end of its console.
    pub fn until_off(&mut self, mut hear: impl FnMut(&str) -> Result<()>) -> Result<()> {
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => hear(line.trim())?,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    bail!(
                        "the machine was not done after {:?}; its console:\n{}",
                        self.limit,
                        tail(&self.console)
                    )
                }
            }
        }
        // Its port is closed, so it ends now.
        let status = self.child.0.wait()?;
        if !status.success() {
            bail!(
                "{EMULATOR}: {status}; the console:\n{}",
                tail(&self.console)
            );
        }
        Ok(())
    }
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
    command.args(["-machine", "pc", "-m", "1024"]);
    // Without cx16: QEMU 7.2 corrupts the flags after a cmpxchg16b, of which Linux 6.12 dies.
    command.arg("-smp").arg(machine.cpus.to_string());
    match machine.clock {
        Clock::Instructions => {
            command.args(["-accel", "tcg", "-icount", "shift=0,sleep=off"]);
            // Nothing random and no time of the host, so that each boot executes the same
            // instructions.
            command.args(["-cpu", "max,-cx16,-rdrand,-rdseed"]);
            command.args(["-rtc", "base=2026-01-01T00:00:00,clock=vm"]);
        }
        Clock::Host => {
            command.args(["-accel", "tcg,thread=single", "-cpu", "max,-cx16"]);
        }
    }
    command
        .arg("-kernel")
        .arg(machine.kernel)
        .arg("-initrd")
        .arg(machine.initramfs);
    command.arg("-append").arg(format!(
        "console=ttyS0 panic=-1 rdinit=/init quiet loglevel=4 {}",
        machine.words
    ));
    command
        .arg("-serial")
        .arg(format!("file:{}", machine.console.display()));
    command.args(["-serial", "stdio"]);
    command.args(&machine.devices);
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

/// Whether the emulator is installed.
///
/// # Errors
/// When it is not.
pub fn emulator() -> Result<()> {
    find(EMULATOR).context("qemu-system-x86_64 is not installed (Debian: qemu-system-x86)")?;
    Ok(())
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
