//! The checks in the machine, one after the other, each reported with what was seen.

mod agree;
mod found;
mod fq;
mod netem;
mod rootless;
mod running;

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::process::{ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, Result};

use super::wanted::{WANTED, Wanted};
use crate::vm::report::{Line, Outcome};

use found::Found;

/// The serial port that reports go to.
const PORT: &str = "/dev/ttyS1";

/// A check: its name and its function.
type Check = (&'static str, fn() -> Result<Found>);

/// All checks in their order: the first ones find no module loaded.
const CHECKS: &[Check] = &[
    (
        "an ordinary user's lab has the kernel load netem, and delays by it",
        netem::loaded,
    ),
    (
        "every setting of a link is netem's, as tc reads it",
        netem::settings,
    ),
    (
        "lab set sets, changes and removes netem in a running lab",
        running::changed,
    ),
    (
        "a refused user namespace is named with its remedy",
        rootless::refused,
    ),
    ("a lab of an ordinary user leaves nothing", rootless::gone),
    ("fq paces datagrams, and is read back", fq::datagrams),
    ("fq paces a stream, and has its parameters", fq::stream),
    ("netem and link emulator: round trips", agree::round_trips),
    (
        "netem and link emulator: drops of a short queue",
        agree::drops,
    ),
    ("netem and link emulator: rate of datagrams", agree::rate),
    ("netem and link emulator: rate of a stream", agree::stream),
    ("netem and link emulator: losses and copies", agree::chances),
];

/// Makes the requested checks, or runs the command.
pub fn main() -> ExitCode {
    match work() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("vm-checks: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work() -> Result<()> {
    let wanted: Wanted = serde_json::from_slice(&std::fs::read(WANTED)?)?;
    let mut port = OpenOptions::new().write(true).open(PORT).context(PORT)?;
    let kernel = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    tell(&mut port, &Line::Up { kernel })?;
    if let Some((program, rest)) = wanted.command.split_first() {
        command(&mut port, program, rest)?;
        return tell(&mut port, &Line::End { checks: 0 });
    }
    let is_wanted =
        |(name, _): &&Check| wanted.only.as_ref().is_none_or(|part| name.contains(part));
    let checks: Vec<&Check> = CHECKS.iter().filter(is_wanted).collect();
    for (name, check) in &checks {
        eprintln!("--- {name}");
        let began = Instant::now();
        let (outcome, said) = match check() {
            Ok(Found::Holds(said)) => (Outcome::Ok, said),
            Ok(Found::Skipped(why)) => (Outcome::Skipped, why),
            Err(error) => (Outcome::Failed, format!("{error:#}")),
        };
        let took_ms = began.elapsed().as_millis() as u64;
        tell(
            &mut port,
            &Line::Check {
                name: (*name).to_owned(),
                outcome,
                said,
                took_ms,
            },
        )?;
    }
    tell(
        &mut port,
        &Line::End {
            checks: checks.len(),
        },
    )
}

fn tell(port: &mut File, line: &Line) -> Result<()> {
    let mut text = serde_json::to_string(line)?;
    text.push('\n');
    port.write_all(text.as_bytes())?;
    // The port is slow, and the machine is powered off after the last line.
    Ok(rustix::termios::tcdrain(&*port)?)
}

fn command(port: &mut File, program: &str, rest: &[String]) -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = super::guest::user(program);
    command
        .args(rest)
        .stdout(writer.try_clone()?)
        .stderr(Stdio::from(writer));
    let mut child = command.spawn().with_context(|| program.to_owned())?;
    drop(command);
    for text in BufReader::new(reader).lines().map_while(Result::ok) {
        tell(port, &Line::Printed { text })?;
    }
    tell(
        port,
        &Line::Printed {
            text: format!("it ended with {}", child.wait()?),
        },
    )
}
