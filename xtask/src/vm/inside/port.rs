//! The machine's reports to its host: lines of JSON on the second serial port.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::time::Instant;

use anyhow::{Context, Result};

use super::wanted::{WANTED, Wanted};
use crate::vm::report::{Line, Outcome};

/// The serial port that reports go to.
const PORT: &str = "/dev/ttyS1";

/// The result of a check: the observation if it holds, or the reason why it could not be made. An
/// error is a check that does not hold.
pub enum Found {
    Holds(String),
    Skipped(String),
}

/// The port, and the work to do.
pub struct Port {
    file: File,
    /// What the host wants.
    pub wanted: Wanted,
}

impl Port {
    /// Opens the port and reads what is wanted.
    ///
    /// # Errors
    /// When one of them is missing.
    pub fn open() -> Result<Port> {
        let file = OpenOptions::new().write(true).open(PORT).context(PORT)?;
        let wanted = serde_json::from_slice(&std::fs::read(WANTED)?)?;
        Ok(Port { file, wanted })
    }

    /// Sends a line.
    ///
    /// # Errors
    /// When the port cannot be written.
    pub fn tell(&mut self, line: &Line) -> Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.file.write_all(text.as_bytes())?;
        // The port is slow, and the machine is powered off after the last line.
        Ok(rustix::termios::tcdrain(&self.file)?)
    }

    /// Makes those of `rows` that are wanted, each with `check`, and reports them; then the end.
    ///
    /// # Errors
    /// When the port cannot be written.
    pub fn make<Row>(
        &mut self,
        rows: &[Row],
        name: impl Fn(&Row) -> &'static str,
        check: impl Fn(&mut Port, &Row) -> Result<Found>,
    ) -> Result<()> {
        let only = self.wanted.only.clone();
        let is_wanted = |row: &&Row| only.as_ref().is_none_or(|part| name(row).contains(part));
        let rows: Vec<&Row> = rows.iter().filter(is_wanted).collect();
        for row in &rows {
            eprintln!("--- {}", name(row));
            let began = Instant::now();
            let (outcome, said) = match check(self, row) {
                Ok(Found::Holds(said)) => (Outcome::Ok, said),
                Ok(Found::Skipped(why)) => (Outcome::Skipped, why),
                Err(error) => (Outcome::Failed, format!("{error:#}")),
            };
            let took_ms = began.elapsed().as_millis() as u64;
            self.tell(&Line::Check {
                name: name(row).to_owned(),
                outcome,
                said,
                took_ms,
            })?;
        }
        self.tell(&Line::End { checks: rows.len() })
    }
}
