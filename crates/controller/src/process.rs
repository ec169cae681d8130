//! Agents as child processes: whole messages over their standard input and output, and the
//! monotonic clock.

use std::io::{BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bitcost_model::protocol::{Decoder, FromAgent, ToAgent, encode};
use bitcost_model::{Unavailable, harmless};

use crate::endpoint::{Bootstrap, Endpoint, Explain};
use crate::error::AgentEnd;
use crate::route::Route;
use crate::transport::{AgentId, Incoming, Link, Transport};

/// The time that a process may take to end after its last message.
const MOMENT: Duration = Duration::from_millis(200);

/// The time that a process may take to end after the end of its input, before it is killed.
const LAST_STEPS: Duration = Duration::from_secs(2);

const SAID_BYTES: usize = 4 << 10;

/// Messages of agents that may be queued for one reader; more are queued in the agents' pipes.
pub const WAITING_MAX: usize = 256;

pub struct Processes {
    inbox: Receiver<Incoming>,
    outbox: SyncSender<Incoming>,
    epoch: Instant,
}

impl Processes {
    #[allow(clippy::new_without_default)]
    pub fn new() -> Processes {
        let (outbox, inbox) = mpsc::sync_channel(WAITING_MAX);
        Processes {
            inbox,
            outbox,
            epoch: Instant::now(),
        }
    }

    pub fn outbox(&self) -> SyncSender<Incoming> {
        self.outbox.clone()
    }
}

impl Transport for Processes {
    fn start(
        &mut self,
        agent: AgentId,
        endpoint: &mut Endpoint,
    ) -> Result<Box<dyn Link>, Unavailable> {
        let route = Route::new(agent, self.outbox());
        Ok(Box::new(Process::start(endpoint, route)?))
    }

    fn receive(&mut self, limit: Duration) -> Option<Incoming> {
        self.inbox.recv_timeout(limit).ok()
    }

    fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    fn sleep(&mut self, length: Duration) {
        std::thread::sleep(length);
    }
}

pub struct Process {
    child: Child,
    /// Frames for the agent; another thread writes them, because a write to a broken connection may
    /// block.
    frames: Option<Sender<Vec<u8>>>,
    explain: Option<Explain>,
    said: Option<Said>,
}

impl Process {
    pub fn start(endpoint: &mut Endpoint, route: Route) -> Result<Process, Unavailable> {
        let mut command = (endpoint.command)()?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if endpoint.explain.is_some() && !endpoint.tells_user {
            command.stderr(Stdio::piped());
        }
        let started = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .spawn()
            .map_err(|error| Unavailable(format!("cannot start {started}: {error}")))?;
        let (frames, to_write) = mpsc::channel();
        if let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) {
            let bootstrap = endpoint.bootstrap.clone();
            std::thread::spawn(move || carry((route, bootstrap), input, output, to_write));
        }
        let said = child.stderr.take().map(Said::new);
        Ok(Process {
            child,
            frames: Some(frames),
            explain: endpoint.explain.clone(),
            said,
        })
    }

    /// Closes its input, so that it restores its host and ends.
    pub fn close(&mut self) {
        self.frames = None;
    }

    fn describe(&self, status: ExitStatus, deadline: Instant) -> String {
        let said = self.said.as_ref().map(|said| said.text(deadline));
        match &self.explain {
            Some(explain) => explain(status.code(), &harmless(said.unwrap_or_default().trim())),
            None => format!("it ended with {status}"),
        }
    }
}

impl Link for Process {
    fn send(&mut self, message: &ToAgent) {
        if let (Some(frames), Ok(frame)) = (&self.frames, encode(message)) {
            let _ = frames.send(frame);
        }
    }

    fn ending(&mut self) -> Option<String> {
        let deadline = Instant::now() + MOMENT;
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(self.describe(status, deadline)),
                Ok(None) if Instant::now() < deadline => {
                    std::thread::sleep(Duration::from_millis(5))
                }
                _ => return None,
            }
        }
    }

    fn end(&mut self, at_once: bool) {
        self.frames = None;
        if at_once {
            let _ = self.child.kill();
        }
        let deadline = Instant::now() + LAST_STEPS;
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

/// Runs the endpoint's handshake, then passes on messages in both directions until the output ends.
fn carry(
    (route, bootstrap): (Route, Option<Bootstrap>),
    mut input: ChildStdin,
    output: ChildStdout,
    frames: Receiver<Vec<u8>>,
) {
    let mut output = BufReader::new(output);
    if let Some(bootstrap) = bootstrap {
        let mut alive = || {
            let _ = route.pass(Ok(FromAgent::Alive));
        };
        if let Err(reason) = bootstrap(&mut input, &mut output, &mut alive) {
            route.pass(Err(reason));
            return;
        }
    }
    std::thread::spawn(move || {
        for frame in frames {
            if input
                .write_all(&frame)
                .and_then(|()| input.flush())
                .is_err()
            {
                return;
            }
        }
    });
    let end = forward(output, |message| route.pass(Ok(message)));
    route.pass(Err(end));
}

struct Said {
    bytes: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Said {
    fn new(mut errors: impl Read + Send + 'static) -> Said {
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
        Said { bytes, reader }
    }

    /// All of it, or the part that arrived before the deadline: a program that the command left
    /// running may keep it open.
    fn text(&self, deadline: Instant) -> String {
        while !self.reader.is_finished() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        String::from_utf8_lossy(&self.bytes.lock().unwrap_or_else(PoisonError::into_inner))
            .replace("\r\n", "\n")
    }
}

/// Passes on whole messages until the output ends or contains something else, and returns the
/// reason of the end.
fn forward(mut output: impl Read, mut pass: impl FnMut(FromAgent) -> bool) -> AgentEnd {
    let mut decoder = Decoder::default();
    let mut bytes = vec![0; 64 << 10];
    loop {
        match output.read(&mut bytes) {
            Ok(0) => return AgentEnd::OutputEnded,
            Ok(length) => decoder.push(&bytes[..length]),
            Err(error) => return AgentEnd::Failed(error.to_string()),
        }
        loop {
            match decoder.take() {
                Ok(Some(message)) => {
                    if !pass(message) {
                        return AgentEnd::Failed("nobody listens".to_owned());
                    }
                }
                Ok(None) => break,
                Err(error) => return AgentEnd::Failed(error.to_string()),
            }
        }
    }
}
