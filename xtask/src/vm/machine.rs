//! Starts a machine, reads its reports, and ends it in any case.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use jiff::{SignedDuration, Timestamp};

use super::files::Image;
use super::inside::{ROLE, Role};
use super::network::Network;
use crate::programs::require;

/// The emulator, of Debian's package qemu-system-x86.
const EMULATOR: &str = "qemu-system-x86_64";
/// How far the clock of the far machine is ahead.
const AHEAD: SignedDuration = SignedDuration::from_hours(1);

/// Whether machines can be emulated.
pub fn possible() -> Result<()> {
    require(EMULATOR, "qemu-system-x86")
}

pub struct Machine<'a> {
    pub image: &'a Image,
    /// What joins it to another machine. Without, its clock counts its instructions, a nanosecond each, so that a busy
    /// host makes it slower and not wrong, and time in which it is idle passes at once; with, it has the host's time.
    pub network: Option<&'a Network>,
    /// The time after which it is killed.
    pub limit: Duration,
}

/// A machine that was started; it is killed when this is dropped.
pub struct Running<'a> {
    child: Child,
    lines: mpsc::Receiver<String>,
    image: &'a Image,
    end: Instant,
}

impl<'a> Machine<'a> {
    pub fn start(&self) -> Result<Running<'a>> {
        let mut child = self.command().spawn().context(EMULATOR)?;
        Ok(Running {
            lines: lines_of(&mut child)?,
            child,
            image: self.image,
            end: Instant::now() + self.limit,
        })
    }

    fn command(&self) -> Command {
        let role = self.image.role;
        let mut command = Command::new(EMULATOR);
        command.args(["-nodefaults", "-no-user-config", "-no-reboot"]);
        command.args(["-display", "none", "-machine", "pc", "-m", "1024"]);
        // Without cx16: QEMU 7.2 corrupts the flags after a cmpxchg16b, of which Linux 6.12 dies.
        if let Some(network) = self.network {
            command.args(["-accel", "tcg,thread=single", "-smp", "2"]);
            command.args(["-cpu", "max,-cx16"]);
            command.args(network.devices(role));
        } else {
            command.args(["-accel", "tcg", "-icount", "shift=0,sleep=off", "-smp", "1"]);
            // Nothing random and no time of the host, so that each boot executes the same
            // instructions.
            command.args(["-cpu", "max,-cx16,-rdrand,-rdseed"]);
            command.args(["-rtc", "base=2026-01-01T00:00:00,clock=vm"]);
        }
        if role == Role::Far {
            let ahead = Timestamp::now() + AHEAD;
            let base = ahead.strftime("%Y-%m-%dT%H:%M:%S");
            command.arg("-rtc").arg(format!("base={base}"));
        }
        command.arg("-kernel").arg(&self.image.kernel.image);
        command.arg("-initrd").arg(&self.image.initramfs);
        command.arg("-append").arg(format!(
            "console=ttyS0 panic=-1 rdinit=/init quiet loglevel=4 {ROLE}={}",
            role.name()
        ));
        let console = format!("file:{}", self.image.console.display());
        command.args(["-serial", &console, "-serial", "stdio"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        command
    }
}

impl Running<'_> {
    /// Passes each line of its second serial port to `hear`. Returns when it is off.
    pub fn until_off(&mut self, mut hear: impl FnMut(&str) -> Result<()>) -> Result<()> {
        loop {
            let left = self.end.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => hear(line.trim())?,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    let console = self.image.end_of_console();
                    bail!("the machine was not done in time; its console:\n{console}")
                }
            }
        }
        // Its port is closed, so it ends now.
        let status = self.child.wait()?;
        if !status.success() {
            let console = self.image.end_of_console();
            bail!("{EMULATOR}: {status}; the console:\n{console}");
        }
        Ok(())
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // Both fail only for a process that has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(child: &mut Child) -> Result<mpsc::Receiver<String>> {
    let output = BufReader::new(child.stdout.take().context("no output")?);
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        let lines = output.split(b'\n').map_while(Result::ok);
        let mut texts = lines.map(|line| String::from_utf8_lossy(&line).into_owned());
        // Until nobody hears it.
        texts.try_for_each(|text| send.send(text))
    });
    Ok(receive)
}
