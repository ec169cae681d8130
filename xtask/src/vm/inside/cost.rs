//! What a study costs in instructions: a machine whose clock counts them runs it in the embedded lab
//! and hands its folder to the host.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;

use super::guest::bitcost;
use super::port::Port;
use crate::vm::report::Line;

/// The serial port for the archive.
const OUT: &str = "/dev/ttyS2";
/// The parent of the study's folder.
const RUNS: &str = "/tmp/runs";

/// Runs the study whose words are wanted, and sends what it wrote.
pub fn work() -> Result<()> {
    let mut port = Port::open()?;
    let kernel = rustix::system::uname()
        .release()
        .to_string_lossy()
        .into_owned();
    port.tell(&Line::Up { kernel })?;
    let mut words = vec!["run"];
    words.extend(port.wanted.command.iter().map(String::as_str));
    words.extend(["--out", RUNS, "--json"]);
    let outcome = bitcost(&words)?;
    if outcome.code != Some(0) {
        bail!("it ended with {:?}: {}", outcome.code, outcome.err);
    }
    let entry = fs::read_dir(RUNS)?.next().context("it left no folder")??;
    let archive = packed(&entry.path())?;
    let file = OpenOptions::new().write(true).open(OUT).context(OUT)?;
    send(file, &archive)?;
    port.tell(&Line::End { checks: 0 })
}

fn packed(folder: &Path) -> Result<Vec<u8>> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    archive.append_dir_all(".", folder)?;
    Ok(archive.into_inner()?.finish()?)
}

/// Writes bytes as they are: a terminal would change line ends.
fn send(mut port: fs::File, bytes: &[u8]) -> Result<()> {
    let mut settings = rustix::termios::tcgetattr(&port)?;
    settings.make_raw();
    settings.set_speed(115_200)?;
    rustix::termios::tcsetattr(&port, rustix::termios::OptionalActions::Now, &settings)?;
    port.write_all(bytes)?;
    Ok(rustix::termios::tcdrain(&port)?)
}
