//! Starts a machine, reads its reports, and ends it in any case.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp};
use rustix::process::{Pid, Signal, kill_process};

use super::inside::Role;
use super::network::Hardware;

/// The emulator, of Debian's package qemu-system-x86.
pub const EMULATOR: &str = "qemu-system-x86_64";
/// How many seconds a machine has.
const LIMIT_S: &str = "1800";
/// How far the clock of the far machine is ahead.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);
/// Lines of the console that are shown if the machine did not power off.
const CONSOLE_LINES: usize = 30;

pub struct Machine {
    pub role: Role,
    /// The folder with its kernel and modules.
    pub kernel: PathBuf,
    /// The folder with its archive and its console.
    pub place: PathBuf,
    pub hardware: Hardware,
    /// More words of the kernel's command line.
    pub words: String,
}

/// A machine that was started; it is killed when this is dropped.
pub struct Running(Child);

impl Machine {
    pub fn file(&self, what: &str) -> PathBuf {
        self.place.join(format!("{}-{what}", self.role.name()))
    }

    /// One machine's clock counts its instructions, a nanosecond each, so that a busy host makes it slower and not wrong, and
    /// time in which it is idle passes at once; one of two has the host's time.
    pub fn start(&self) -> Result<Running> {
        // Without cx16: QEMU 7.2 corrupts the flags after a cmpxchg16b, of which Linux 6.12 dies.
        let own = match self.role {
            // Nothing random and no time of the host, so that each boot executes the same instructions.
            Role::Alone => {
                "-accel tcg -icount shift=0,sleep=off -m 1024 -smp 1 -cpu max,-cx16,-rdrand,-rdseed \
                 -rtc base=2026-01-01T00:00:00,clock=vm"
                    .to_owned()
            }
            role => format!(
                "-accel tcg,thread=single -cpu max,-cx16 {} {}",
                self.hardware.processors(),
                self.hardware.devices(role)
            ),
        };
        let mut command = Command::new("timeout");
        command.args(["--foreground", LIMIT_S, EMULATOR]);
        command.args("-nodefaults -no-user-config -no-reboot -display none -machine pc".split(' '));
        command.args(own.split_whitespace());
        if self.role == Role::Far {
            let ahead = Timestamp::now() + AHEAD;
            command
                .arg("-rtc")
                .arg(ahead.strftime("base=%Y-%m-%dT%H:%M:%S").to_string());
        }
        command.arg("-kernel").arg(self.kernel.join("boot/vmlinuz"));
        command.arg("-initrd").arg(self.file("initramfs"));
        let line = "console=ttyS0 panic=-1 rdinit=/init quiet loglevel=4";
        let (role, words) = (self.role.name(), &self.words);
        command.args(["-append", &format!("{line} role={role} {words}")]);
        let console = format!("file:{}", self.file("console.log").display());
        command.args(["-serial", &console, "-serial", "stdio"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Ok(Running(command.spawn().context("timeout")?))
    }

    pub fn end_of_console(&self) -> String {
        let bytes = std::fs::read(self.file("console.log")).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(CONSOLE_LINES)..].join("\n")
    }
}

impl Running {
    /// Passes each line of its second serial port to `hear`. Returns when it is off.
    pub fn until_off(&mut self, mut hear: impl FnMut(&str) -> Result<()>) -> Result<()> {
        let output = self.0.stdout.take().context("no output")?;
        for line in BufReader::new(output).split(b'\n') {
            hear(String::from_utf8_lossy(&line?).trim())?;
        }
        let status = self.0.wait()?;
        match status.code() {
            Some(0) => Ok(()),
            Some(124) => bail!("a machine was not done in {LIMIT_S} s"),
            _ => bail!("{EMULATOR}: {status}"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Ok(None) = self.0.try_wait() {
            // It is passed on to the emulator.
            let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
            let _ = self.0.wait();
        }
    }
}
