//! One agent: its process, and whole messages both ways.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::harmless;
use model::record::Role;
use wire::{Decoder, FromAgent, ToAgent, encode};

use crate::{Explain, Opening, Way};

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
    /// What it is told; written by a thread of its own, since a connection that is cut takes nothing.
    frames: Option<Sender<Vec<u8>>>,
    said: Option<Said>,
    pub generation: u32,
    /// When the last word came from it.
    heard: Instant,
    /// Whether any word of the control protocol came.
    has_spoken: bool,
}

impl Link {
    /// Starts the agent, of the program that is named, else of this one; what it says goes to `inbox`.
    pub fn start(
        role: Role,
        way: &mut Way,
        program: Option<&str>,
        generation: u32,
        inbox: SyncSender<Incoming>,
    ) -> Result<Link, String> {
        let mut command = (way.command)(program)?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if way.explain.is_some() {
            command.stderr(Stdio::piped());
        }
        let started = command.get_program().to_string_lossy().into_owned();
        let mut child = command.spawn().map_err(|error| format!("cannot start {started}: {error}"))?;
        let (frames, to_write) = mpsc::channel();
        if let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) {
            let program = program.map(str::to_owned);
            let talk = Talk { role, generation, inbox, opening: way.opening.clone(), program };
            std::thread::spawn(move || talk.carry(input, output, to_write));
        }
        let said = way.explain.clone().zip(child.stderr.take()).map(|(explain, errors)| Said::new(explain, errors));
        Ok(Link { child, frames: Some(frames), said, generation, heard: Instant::now(), has_spoken: false })
    }

    /// Sends a message. A broken pipe is no error here: the end of its output tells the same.
    pub fn send(&mut self, message: &ToAgent) {
        if let (Some(frames), Ok(frame)) = (&self.frames, encode(message)) {
            let _ = frames.send(frame);
        }
    }

    /// Notes that a word came.
    pub fn hear(&mut self, content: &Result<FromAgent, String>) {
        self.heard = Instant::now();
        self.has_spoken |= matches!(content, Ok(message) if *message != FromAgent::Alive);
    }

    /// How long nothing came, where that is longer than `limit`; before its first word, longer than `greeting`.
    pub fn silence(&self, limit: Duration, greeting: Duration) -> Option<Duration> {
        let silence = self.heard.elapsed();
        (silence > if self.has_spoken { limit } else { greeting }).then_some(silence)
    }

    /// Whether any word of the control protocol came.
    pub fn has_spoken(&self) -> bool {
        self.has_spoken
    }

    /// Ends a process that nothing can be said to any more, at once.
    pub fn abandon(mut self) {
        let _ = self.child.kill();
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

    /// How the process ended, in words.
    fn told(&self, status: ExitStatus, deadline: Instant) -> String {
        match &self.said {
            Some(said) => (said.explain)(status.code(), harmless(said.text(deadline).trim()).as_str()),
            None => format!("it ended with {status}"),
        }
    }
}

/// What goes to and fro between the controller and one agent, in threads of their own.
struct Talk {
    role: Role,
    generation: u32,
    inbox: SyncSender<Incoming>,
    opening: Option<Opening>,
    program: Option<String>,
}

impl Talk {
    /// Makes the way's opening, then passes on messages both ways until the output ends.
    fn carry(self, mut input: ChildStdin, output: ChildStdout, frames: Receiver<Vec<u8>>) {
        let mut output = BufReader::new(output);
        if let Some(opening) = &self.opening {
            let mut sign = || {
                let _ = self.pass(Ok(FromAgent::Alive));
            };
            if let Err(reason) = opening(self.program.as_deref(), &mut input, &mut output, &mut sign) {
                self.pass(Err(reason));
                return;
            }
        }
        std::thread::spawn(move || {
            for frame in frames {
                if input.write_all(&frame).and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        });
        let end = forward(output, |message| self.pass(Ok(message)));
        self.pass(Err(end));
    }

    fn pass(&self, content: Result<FromAgent, String>) -> bool {
        self.inbox.send(Incoming { role: self.role, generation: self.generation, content }).is_ok()
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
        self.frames = None;
        if !self.has_spoken {
            // It has nothing to put back, and its way may still be waiting for somebody.
            let _ = self.child.kill();
        }
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
