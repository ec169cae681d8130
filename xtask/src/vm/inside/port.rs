//! The work that a machine is given, and its reports to its host: lines of JSON on the second serial port.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::vm::report::{Line, Outcome};

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

/// What a machine is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It is one of two, and makes the checks.
    Near,
    /// It is reached by the other one.
    Far,
    /// It makes the checks of one machine.
    Alone,
}

impl Role {
    /// Its name: that of the host, and in the kernel's command line.
    pub fn name(self) -> &'static str {
        match self {
            Role::Near => "near",
            Role::Far => "far",
            Role::Alone => "vm",
        }
    }

    /// The role of this machine.
    pub(super) fn here() -> Role {
        let name = std::env::var(ROLE).unwrap_or_default();
        let mut pair = [Role::Near, Role::Far].into_iter();
        pair.find(|role| role.name() == name).unwrap_or(Role::Alone)
    }
}

/// The serial port that reports go to.
const PORT: &str = "/dev/ttyS1";

/// The result of a check: the observation if it holds, or the reason why it could not be made. An
/// error is a check that does not hold.
pub enum Found {
    Holds(String),
    Skipped(String),
}

/// A check.
pub struct Check {
    pub name: &'static str,
    /// Whether it is in the short form.
    pub short: bool,
    pub check: fn(&mut Port) -> Result<Found>,
}

pub const fn check(name: &'static str, check: fn(&mut Port) -> Result<Found>) -> Check {
    Check {
        name,
        short: false,
        check,
    }
}

/// The port, and the work to do.
pub struct Port {
    file: File,
    /// What the host wants.
    pub wanted: Wanted,
}

impl Port {
    /// Opens the port and reads what is wanted.
    pub fn open() -> Result<Port> {
        let file = OpenOptions::new().write(true).open(PORT).context(PORT)?;
        let wanted = serde_json::from_slice(&std::fs::read(WANTED)?)?;
        Ok(Port { file, wanted })
    }

    /// Sends a line.
    pub fn tell(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        // The port is slow, and the machine is powered off after the last line.
        Ok(rustix::termios::tcdrain(&self.file)?)
    }

    /// Makes those checks that are wanted, and reports them; then the end.
    pub fn make(
        &mut self,
        checks: &[Check],
        check: impl Fn(&mut Port, &Check) -> Result<Found>,
    ) -> Result<()> {
        let only = self.wanted.only.clone().unwrap_or_default();
        let is_wanted =
            |row: &&Check| row.name.contains(&only) && (row.short || !self.wanted.short);
        let rows: Vec<&Check> = checks.iter().filter(is_wanted).collect();
        for row in &rows {
            eprintln!("--- {}", row.name);
            let began = Instant::now();
            let (outcome, said) = match check(self, row) {
                Ok(Found::Holds(said)) => (Outcome::Ok, said),
                Ok(Found::Skipped(why)) => (Outcome::Skipped, why),
                Err(error) => (Outcome::Failed, format!("{error:#}")),
            };
            self.tell(&Line::Check {
                name: row.name.to_owned(),
                outcome,
                said,
                took_ms: began.elapsed().as_millis() as u64,
            })?;
        }
        self.tell(&Line::End { checks: rows.len() })
    }
}
