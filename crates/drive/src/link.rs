//! One agent: its process, and whole messages both ways.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::record::Role;
use wire::{Decoder, FromAgent, ToAgent, encode};

use crate::{Explain, Way};

/// Why nothing comes any more from an agent that says nothing wrong.
pub const OUTPUT_ENDED: &str = "its output ended";

/// How long a process may take to be gone after its last sign.
const MOMENT: Duration = Duration::from_millis(200);

/// How much of what a command wrote to standard error is kept, in bytes.
const SAID_BYTES: usize = 4 << 10;

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
    said: Option<Said>,
    pub generation: u32,
}

impl Link {
    /// Starts the agent; what it says goes to `inbox`.
    pub fn start(role: Role, way: &mut Way, generation: u32, inbox: Sender<Incoming>) -> Result<Link, String> {
        let mut command = (way.command)()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if way.explain.is_some() {
            command.stderr(Stdio::piped());
        }
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
        let said = way.explain.clone().zip(child.stderr.take()).map(|(explain, errors)| Said::new(explain, errors));
        Ok(Link { child, input, said, generation })
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
                Ok(Some(status)) => return Some(self.told(status, deadline)),
                Ok(None) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
                _ => return None,
            }
        }
    }
}

impl Link {
    /// How the process ended, in words.
    fn told(&self, status: ExitStatus, deadline: Instant) -> String {
        match &self.said {
            Some(said) => (said.explain)(status.code(), said.text(deadline).trim()),
            None => format!("it ended with {status}"),
        }
    }
}

/// The end of what a command wrote to standard error.
struct Said {
    explain: Explain,
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Said {
    fn new(explain: Explain, mut errors: impl Read + Send + 'static) -> Said {
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = bytes.clone();
        let reader = std::thread::spawn(move || {
            let mut part = [0; 1 << 10];
            while let Ok(length @ 1..) = errors.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..length]);
                let surplus = kept.len().saturating_sub(SAID_BYTES);
                kept.drain(..surplus);
            }
        });
        Said { explain, bytes, reader }
    }

    /// All of it, or what there is by the deadline: a program that the command left behind may hold it open.
    fn text(&self, deadline: Instant) -> String {
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
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
