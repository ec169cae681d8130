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

    /// Its first link, which the first client spends.
    pub fn link(&self) -> Result<&str> {
        let said = &self.said;
        let link = said.find("bitcost://").map(|start| &said[start..]);
        let is_end = |letter: char| letter.is_whitespace() || ",;'".contains(letter);
        link.and_then(|link| link.split(is_end).next())
            .with_context(|| format!("a link in: {said}"))
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // It fails only for a process that has exited.
        let _ = kill_process(Pid::from_child(&self.process), Signal::TERM);
        let _ = self.process.wait();
    }
}
