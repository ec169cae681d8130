//! A `bitcost serve` that a check starts.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

/// A service that runs; ended when this is dropped.
pub struct Serving {
    process: Child,
    said: String,
}

impl Serving {
    /// Starts the command, and waits for the line that contains `last`.
    pub fn start(mut serve: Command, last: &str) -> Result<Serving> {
        let mut process = serve
            .stdout(Stdio::piped())
            .spawn()
            .context("bitcost serve")?;
        let mut output = BufReader::new(process.stdout.take().context("its output")?);
        let mut serving = Serving {
            process,
            said: String::new(),
        };
        while !serving.said.contains(last) {
            let length = output.read_line(&mut serving.said)?;
            ensure!(length > 0, "bitcost serve ended: {}", serving.said);
        }
        thread::spawn(move || {
            let mut rest = [0; 4096];
            while output.read(&mut rest).is_ok_and(|length| length > 0) {}
        });
        Ok(serving)
    }

    /// Its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// The port at which it listens.
    pub fn port(&self) -> Result<u16> {
        let port = word_from(&self.said, "port ").and_then(|word| word.strip_prefix("port "));
        port.and_then(|port| port.parse().ok())
            .with_context(|| format!("a port in: {}", self.said))
    }

    /// Its first link, which the first client spends.
    pub fn link(&self) -> Result<&str> {
        link(&self.said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It fails only for a process that has exited.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}

/// The link in what `bitcost serve` printed.
pub fn link(said: &str) -> Result<&str> {
    word_from(said, "bitcost://").with_context(|| format!("a link in: {said}"))
}

/// The text from `start` to the end of the word that follows it.
fn word_from<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let found = &text[text.find(start)?..];
    let is_end = |letter: char| letter.is_whitespace() || ",;'".contains(letter);
    let length = found[start.len()..].find(is_end);
    Some(&found[..length.map_or(found.len(), |length| start.len() + length)])
}
