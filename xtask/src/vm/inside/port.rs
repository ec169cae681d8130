//! The work that a machine is given, and its reports to its host: lines on the second serial port.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// The file with the [`Wanted`] work, as JSON.
pub const WANTED: &str = "/etc/wanted";

/// The work to do in the machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wanted {
    /// Part of the names of the checks to make.
    pub only: Option<String>,
    /// Only the checks of the short form.
    pub short: bool,
}

/// The word of the kernel's command line that tells a machine its [`Role`]; the kernel passes it on as
/// an environment variable of the first process.
pub const ROLE: &str = "role";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// One of two, which makes the checks.
    Near,
    /// The one that is reached by the other.
    Far,
    /// It makes the checks of one machine.
    Alone,
}

impl Role {
    /// That of the host, and in the kernel's command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Near => "near",
            Role::Far => "far",
            Role::Alone => "vm",
        }
    }

    pub(super) fn here() -> Role {
        let name = std::env::var(ROLE).unwrap_or_default();
        let mut pair = [Role::Near, Role::Far].into_iter();
        pair.find(|role| role.name() == name).unwrap_or(Role::Alone)
    }
}

/// The serial port that reports go to; nothing else writes to it.
const PORT: &str = "/dev/ttyS1";

/// Returns what was seen where the check holds.
type Make = fn(&mut Port) -> Result<String>;

pub struct Check {
    pub name: &'static str,
    pub short: bool,
    pub make: Make,
}

pub const fn check(name: &'static str, make: Make) -> Check {
    let short = false;
    Check { name, short, make }
}

pub struct Port {
    file: File,
    pub wanted: Wanted,
}

/// What only the host of two machines can do.
#[derive(Clone, Copy)]
pub enum Ask {
    CutLink,
    JoinLink,
    /// The other machine is off or goes off now.
    BootOther,
}

impl Ask {
    pub const ALL: [Ask; 3] = [Ask::CutLink, Ask::JoinLink, Ask::BootOther];

    pub fn line(self) -> &'static str {
        match self {
            Ask::CutLink => "ask: cut the link",
            Ask::JoinLink => "ask: join the link",
            Ask::BootOther => "ask: boot the other machine",
        }
    }
}

/// How the lines of checks that hold, of those that do not, and of their number begin.
pub const HOLDS: &str = "ok       ";
pub const FAILED: &str = "FAILED   ";
pub const END: &str = "end: ";

impl Port {
    /// Opens the port, reads what is wanted, and tells that this kernel is up.
    pub fn open() -> Result<Port> {
        let file = OpenOptions::new().write(true).open(PORT).context(PORT)?;
        let wanted = serde_json::from_slice(&std::fs::read(WANTED)?)?;
        let mut port = Port { file, wanted };
        let uname = rustix::system::uname();
        port.tell(&format!(
            "Linux {} is up",
            uname.release().to_string_lossy()
        ))?;
        Ok(port)
    }

    fn tell(&mut self, line: &str) -> Result<()> {
        let line = line.trim().replace(['\n', '\r'], " ");
        writeln!(self.file, "{line}")?;
        // The port is slow, and the machine is powered off after the last line.
        Ok(rustix::termios::tcdrain(&self.file)?)
    }

    pub fn ask(&mut self, ask: Ask) -> Result<()> {
        self.tell(ask.line())
    }

    /// Makes those checks that are wanted, and reports them; then their number.
    pub fn make(
        &mut self,
        checks: &[Check],
        make: impl Fn(&mut Port, &Check) -> Result<String>,
    ) -> Result<()> {
        let Wanted { only, short } = self.wanted.clone();
        let only = only.unwrap_or_default();
        let is_wanted = |row: &&Check| row.name.contains(&only) && (row.short || !short);
        let rows: Vec<&Check> = checks.iter().filter(is_wanted).collect();
        for row in &rows {
            eprintln!("--- {}", row.name);
            let began = Instant::now();
            let (begin, said) = match make(self, row) {
                Ok(said) => (HOLDS, said),
                Err(error) => (FAILED, format!("{error:#}")),
            };
            let seconds = began.elapsed().as_secs_f64();
            self.tell(&format!("{begin}{} ({seconds:.1} s): {said}", row.name))?;
        }
        self.tell(&format!("{END}{}", rows.len()))
    }
}
