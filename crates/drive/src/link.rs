//! One agent: its process, and whole messages both ways.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use model::record::Role;
use wire::{Decoder, FromAgent, ToAgent, encode};

use crate::Way;

/// Why nothing comes any more from an agent that says nothing wrong.
pub const OUTPUT_ENDED: &str = "its output ended";

/// How long a process may take to be gone after its last sign.
const MOMENT: Duration = Duration::from_millis(200);

/// What comes from an agent, or that nothing comes any more.
pub struct Incoming {
    pub role: Role,
    /// Which of the agents started for this role: messages of an earlier one are dropped.
    pub generation: u32,
    pub content: Result<FromAgent, String>,
}

/// An agent's process. Dropping it ends the process.
pub struct Link {
    child: Child,
    input: Option<ChildStdin>,
    pub generation: u32,
}

impl Link {
    /// Starts the agent; what it says goes to `inbox`.
    pub fn start(role: Role, way: &mut Way, generation: u32, inbox: Sender<Incoming>) -> Result<Link, String> {
        let mut command = (way.command)()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        let input = child.stdin.take();
        if let Some(output) = child.stdout.take() {
            std::thread::spawn(move || {
                let end =
                    forward(output, |message| inbox.send(Incoming { role, generation, content: Ok(message) }).is_ok());
                let _ = inbox.send(Incoming { role, generation, content: Err(end) });
            });
        }
        Ok(Link { child, input, generation })
    }

    /// Sends a message. A broken pipe is no error here: the end of its output tells the same.
    pub fn send(&mut self, message: &ToAgent) {
        if let (Some(input), Ok(frame)) = (&mut self.input, encode(message)) {
            let _ = input.write_all(&frame).and_then(|()| input.flush());
        }
    }

    /// How the process ended; absent when it does not within a moment.
    pub fn ending(&mut self) -> Option<String> {
        let deadline = Instant::now() + MOMENT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(format!("it ended with {status}")),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.input = None;
        let deadline = Instant::now() + Duration::from_secs(2);
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

/// Passes on whole messages until the output ends or is none of ours, and says which.
fn forward(mut output: impl Read, mut pass: impl FnMut(FromAgent) -> bool) -> String {
    let mut decoder = Decoder::default();
    let mut bytes = vec![0; 64 << 10];
    loop {
        match output.read(&mut bytes) {
            Ok(0) => return OUTPUT_ENDED.to_owned(),
            Ok(length) => decoder.push(&bytes[..length]),
            Err(error) => return error.to_string(),
        }
        loop {
            match decoder.take() {
                Ok(Some(message)) => {
                    if !pass(message) {
                        return "nobody listens".to_owned();
                    }
                }
                Ok(None) => break,
                Err(error) => return error.to_string(),
            }
        }
    }
}
