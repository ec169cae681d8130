//! One client that has the host. Its agent speaks with it, by way of the process without privileges, and holds it to the rules;
//! the service says what comes of it, and ends what lasts too long.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStderr, Stdio};
use std::time::{Duration, Instant};

use bitcost_model::client_event::ClientEvent;
use bitcost_model::confinement::Confinement;
use bitcost_model::protocol::{FailureCause, FromAgent};
use bitcost_model::units::counted;
use bitcost_sys::process::{end, wait_readable};

use crate::front::Channel;
use crate::message::{clean_line, frame};
use crate::shared::Shared;

/// The longest time for which a client may have the host, unless the service allows a longer run.
const SESSION_MAX: Duration = Duration::from_secs(3600);

/// The time that a session with such a run has for what comes before and after it.
const BESIDES: Duration = Duration::from_secs(120);

const LOOK: Duration = Duration::from_millis(200);

/// The time in which a client is told why its session ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// The time in which an agent whose input has ended restores its host and ends.
const LAST_STEPS: Duration = Duration::from_secs(8);

/// The longest line of an agent, in bytes.
const LINE_BYTES_MAX: u64 = 4 << 10;

/// Serves a client that has the host, until either side ends. The agent is gone when this returns.
pub fn serve(shared: &Shared, peer: SocketAddr, to: &Confinement, client: &Channel) {
    shared.tell(peer, ClientEvent::Begins);
    let mut session = Session {
        shared,
        peer,
        begun: Instant::now(),
        runs: 0,
        last: None,
    };
    let why = match start(shared, to, client) {
        Ok(mut agent) => session.watch(&mut agent, client),
        Err(error) => Some(format!("cannot start an agent: {error}")),
    };
    if let Some(why) = &why {
        farewell(client, why);
    }
    let runs = counted(session.runs, "run");
    let seconds = session.begun.elapsed().as_secs_f64();
    let why = why.map_or(String::new(), |why| format!("; {why}"));
    let line = format!("ends after {runs} in {seconds:.1} s{why}");
    shared.tell(peer, ClientEvent::Served(line));
}

fn start(shared: &Shared, to: &Confinement, client: &Channel) -> io::Result<Child> {
    let (input, output) = (client.try_clone()?, client.try_clone()?);
    (shared.agent)(to)
        .stdin(OwnedFd::from(input))
        .stdout(OwnedFd::from(output))
        .stderr(Stdio::piped())
        .spawn()
}

struct Session<'a, 'b> {
    shared: &'a Shared<'b>,
    peer: SocketAddr,
    begun: Instant,
    runs: usize,
    /// What the agent said last, of itself.
    last: Option<String>,
}

impl Session<'_, '_> {
    /// Waits for the end of the agent; returns why it ended, if not by the client.
    fn watch(&mut self, agent: &mut Child, client: &Channel) -> Option<String> {
        let mut said = BufReader::new(agent.stderr.take()?);
        let longest = Duration::from_secs(self.shared.rules.max_duration_s.into());
        let most = SESSION_MAX.max(longest + BESIDES);
        let why = loop {
            if self.shared.is_stopping() {
                break Some("the service is being stopped".to_owned());
            }
            if self.begun.elapsed() >= most {
                let most = most.as_secs();
                break Some(format!("a client has the host for at most {most} s"));
            }
            match self.listen(&mut said) {
                Ok(true) => {}
                Ok(false) if matches!(agent.try_wait(), Ok(None)) => {}
                _ => break None,
            }
        };
        // The agent's input ends; what it says until it has ended still reaches the client.
        let _ = client.shutdown(Shutdown::Read);
        // One that is killed has a watchdog, which restores the host.
        end(agent, LAST_STEPS);
        let is_done = matches!(agent.try_wait(), Ok(Some(status)) if status.success());
        let ended = || self.last.take().unwrap_or("its agent ended".to_owned());
        why.or_else(|| (!is_done).then(ended))
    }

    /// Takes a line of the agent; false where none came soon.
    fn listen(&mut self, said: &mut BufReader<ChildStderr>) -> io::Result<bool> {
        if said.buffer().is_empty() && !wait_readable(said.get_ref(), LOOK)? {
            return Ok(false);
        }
        let mut line = Vec::new();
        if said.take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let line = clean_line(String::from_utf8_lossy(&line).trim_end());
        match line.strip_prefix("refused: ") {
            Some(why) => {
                let refused = ClientEvent::Refused(why.to_owned());
                self.shared.tell(self.peer, refused);
            }
            None if line == "run" => self.runs += 1,
            None => self.last = Some(line.trim_start_matches("bitcost: ").to_owned()),
        }
        Ok(true)
    }
}

/// Tells the client why the service ends the session. Its agent has ended, and says nothing more.
fn farewell(mut client: &Channel, why: &str) {
    let message = FromAgent::Failed {
        reason: format!("the service ends the session: {why}"),
        cause: FailureCause::Other,
    };
    let _ = client.set_write_timeout(Some(FAREWELL));
    let _ = client.write_all(&frame(&message));
}
