//! The work that a machine is given, as words of the kernel's command line, which passes them on as environment of the first
//! process; and its reports to its host: lines on the second serial port.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It makes the checks of one machine.
    Alone,
    /// One of two, which makes the checks.
    Near,
    /// The one that is reached by the other.
    Far,
}

impl Role {
    /// That of the host, and in the kernel's command line.
    pub fn name(self) -> &'static str {
        ["vm", "near", "far"][self as usize]
    }

    /// 1 or 2, of two.
    pub fn number(self) -> usize {
        self as usize
    }

    /// The release of Debian whose kernel it has: Linux 6.1 or 6.12.
    pub fn release(self) -> &'static str {
        if self == Role::Far {
            "trixie"
        } else {
            "bookworm"
        }
    }

    pub(super) fn here() -> Role {
        let name = std::env::var("role").unwrap_or_default();
        let mut pair = [Role::Near, Role::Far].into_iter();
        pair.find(|role| role.name() == name).unwrap_or(Role::Alone)
    }
}

/// The serial port that reports go to; nothing else writes to it.
const PORT: &str = "/dev/ttyS1";

/// What only the host of two machines can do; the other machine is off or goes off now when it is to be booted.
pub const CUT_LINK: &str = "ask: cut the link";
pub const JOIN_LINK: &str = "ask: join the link";
pub const BOOT_OTHER: &str = "ask: boot the other machine";

/// How the lines of checks that hold, of those that do not, and of their number begin.
pub const HOLDS: &str = "ok       ";
pub const FAILED: &str = "FAILED   ";
pub const END: &str = "end: ";

/// A check: its name, and what returns what was seen where it holds.
pub type Check = (&'static str, fn() -> Result<String>);

pub fn tell(line: &str) -> Result<()> {
    let mut port = OpenOptions::new().write(true).open(PORT).context(PORT)?;
    writeln!(port, "{}", line.trim().replace(['\n', '\r'], " "))?;
    // The port is slow, and the machine is powered off after the last line.
    Ok(rustix::termios::tcdrain(&port)?)
}

/// Whether the checks of this form are wanted: `short`, or `table`.
pub fn is(form: &str) -> bool {
    std::env::var(form).is_ok_and(|is| is == "1")
}

/// Tells that this kernel is up, makes those checks that are wanted, and reports each as `judge` passes it on; then their
/// number.
pub fn make(checks: &[Check], judge: impl Fn(Result<String>) -> Result<String>) -> Result<()> {
    let only = std::env::var("only").unwrap_or_default();
    let checks = checks.iter().filter(|(name, _)| name.contains(&only));
    let release = rustix::system::uname();
    let release = release.release().to_string_lossy();
    tell(&format!("Linux {release} is up"))?;
    let mut count = 0;
    for (name, check) in checks {
        eprintln!("--- {name}");
        let began = Instant::now();
        let (begin, said) = match judge(check()) {
            Ok(said) => (HOLDS, said),
            Err(error) => (FAILED, format!("{error:#}")),
        };
        let seconds = began.elapsed().as_secs_f64();
        tell(&format!("{begin}{name} ({seconds:.1} s): {said}"))?;
        count += 1;
    }
    tell(&format!("{END}{count}"))
}
