//! The checks in the machine, one after the other, each reported with what was seen.

mod agree;
mod fq;
mod netem;
mod rootless;
mod running;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::port::{Found, Port};
use crate::vm::report::Line;

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
///
/// # Errors
/// When the port cannot be written, or the command cannot be started.
pub fn work() -> Result<()> {
    let mut port = Port::open()?;
    let kernel = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    port.tell(&Line::Up { kernel })?;
    if let Some((program, rest)) = port.wanted.command.clone().split_first() {
        command(&mut port, program, rest)?;
        return port.tell(&Line::End { checks: 0 });
    }
    port.make(CHECKS, |(name, _)| *name, |_, (_, check)| check())
}

fn command(port: &mut Port, program: &str, rest: &[String]) -> Result<()> {
    let (reader, writer) = std::io::pipe()?;
    let mut command = match port.wanted.root {
        true => Command::new(program),
        false => super::guest::user(program),
    };
    command
        .args(rest)
        .stdout(writer.try_clone()?)
        .stderr(Stdio::from(writer));
    let mut child = command.spawn().with_context(|| program.to_owned())?;
    drop(command);
    for text in BufReader::new(reader).lines().map_while(Result::ok) {
        port.tell(&Line::Printed { text })?;
    }
    port.tell(&Line::Printed {
        text: format!("it ended with {}", child.wait()?),
    })
}
