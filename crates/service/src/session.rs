//! One client that has the host: each of its messages is judged, what a rule forbids does not reach the agent, and what the agent
//! answers is passed on. Both sides are read no further than the other one takes.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bitcost_model::client_event::ClientEvent;
use bitcost_model::harmless;
use bitcost_model::protocol::{FRAME_BYTES_MAX, FailureCause, FromAgent, ToAgent};
use bitcost_model::units::counted;
use bitcost_sys::clock::monotonic_ns;
use bitcost_sys::process::end;

use crate::front::Channel;
use crate::message::{Refused, frame, read_frame, refused};
use crate::policy::Policy;
use crate::shared::Shared;

/// Most messages of a session that are refused; one more ends it.
pub const REFUSED_MAX: u32 = 64;

/// The most letters of a sentence about a message, which may quote what the client sent.
const SENTENCE_LETTERS_MAX: usize = 500;

/// The longest time for which a client may have the host.
pub const SESSION_MAX: Duration = Duration::from_secs(3600);

const LOOK: Duration = Duration::from_millis(200);

/// The time in which a client is told why its session ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// The time in which an agent whose input has ended restores its host and ends.
const LAST_STEPS: Duration = Duration::from_secs(8);

/// Judges the messages of one session.
pub struct Judge {
    policy: Policy,
    refused: u32,
}

#[derive(Debug)]
pub enum Judged {
    /// The agent gets this: what was judged, and not what was received.
    Passed {
        frame: Vec<u8>,
        is_start: bool,
    },
    Refused(Refused),
    /// The session ends with it.
    Last(String),
}

impl Judge {
    pub fn new(policy: Policy) -> Judge {
        Judge { policy, refused: 0 }
    }

    /// Judges the text of a message; `now_ns` is the agent's monotonic clock.
    pub fn judge(&mut self, text: &[u8], now_ns: u64) -> Judged {
        let message: ToAgent = match serde_json::from_slice(text) {
            Ok(message) => message,
            Err(error) => {
                let why = format!("not a control message of this version of bitcost: {error}");
                return Judged::Last(shortened(harmless(&why)));
            }
        };
        match self.policy.judge(message, now_ns) {
            Ok(message) => Judged::Passed {
                frame: frame(&message),
                is_start: matches!(message, ToAgent::Start(_)),
            },
            Err(_) if self.refused == REFUSED_MAX => {
                Judged::Last(format!("more than {REFUSED_MAX} messages were refused"))
            }
            Err(Refused(why)) => {
                self.refused += 1;
                Judged::Refused(Refused(shortened(why)))
            }
        }
    }
}

fn shortened(sentence: String) -> String {
    match sentence.char_indices().nth(SENTENCE_LETTERS_MAX) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence,
    }
}

/// Why a session that has lasted this long ends; absent where it goes on.
pub fn too_long(lasted: Duration) -> Option<String> {
    let most = SESSION_MAX.as_secs();
    (lasted >= SESSION_MAX).then(|| format!("a client has the host for at most {most} s"))
}

/// What ends a session.
enum Over {
    Client,
    Agent,
    /// The service ends it, and tells the client why.
    Service(String),
}

struct Session<'a, 'b> {
    shared: &'a Shared<'b>,
    peer: SocketAddr,
    client: &'a Channel,
    /// Held by whoever says something to the client, for whole messages.
    turn: Mutex<()>,
    started: AtomicU32,
    begun: Instant,
}

/// Serves a client that has the host, until either side ends. The agent is gone when this returns.
pub fn serve(shared: &Shared, peer: SocketAddr, policy: Policy, client: &Channel) {
    shared.tell(peer, ClientEvent::Begins);
    let session = Session {
        shared,
        peer,
        client,
        turn: Mutex::default(),
        started: AtomicU32::default(),
        begun: Instant::now(),
    };
    let mut command = (shared.agent)();
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let why = match command.spawn() {
        Ok(mut agent) => session.talk(&mut agent, Judge::new(policy)),
        Err(error) => Some(format!("cannot start an agent: {error}")),
    };
    let runs = counted(session.started.into_inner() as usize, "run");
    let seconds = session.begun.elapsed().as_secs_f64();
    let why = why.map_or(String::new(), |why| format!("; {why}"));
    let line = format!("ends after {runs} in {seconds:.1} s{why}");
    shared.tell(peer, ClientEvent::Served(line));
}

impl Session<'_, '_> {
    /// Carries messages both ways; returns why it ended, if not by the client.
    fn talk(&self, agent: &mut Child, judge: Judge) -> Option<String> {
        let (input, output) = (agent.stdin.take()?, agent.stdout.take()?);
        thread::scope(|scope| {
            let (asked, ends) = channel();
            let answered = asked.clone();
            scope.spawn(move || asked.send(self.ask(judge, input)));
            scope.spawn(move || answered.send(self.answer(output)));
            let over = self.watch(&ends);
            if let Over::Service(why) = &over {
                self.farewell(why);
            }
            // Both threads end: the client says and takes nothing more, and the agent's input has ended.
            let _ = self.client.shutdown(Shutdown::Both);
            // One that is killed has a watchdog, which restores the host.
            end(agent, LAST_STEPS);
            match over {
                Over::Client => None,
                Over::Agent => Some("its agent ended".to_owned()),
                Over::Service(why) => Some(why),
            }
        })
    }

    fn watch(&self, ends: &Receiver<Over>) -> Over {
        loop {
            if let Ok(over) = ends.recv_timeout(LOOK) {
                return over;
            }
            if self.shared.is_stopping() {
                return Over::Service("the service is being stopped".to_owned());
            }
            if let Some(why) = too_long(self.begun.elapsed()) {
                return Over::Service(why);
            }
        }
    }

    /// Passes on what the client may say.
    fn ask(&self, mut judge: Judge, mut agent: ChildStdin) -> Over {
        let mut client = self.client;
        loop {
            let text = match read_frame(&mut client, FRAME_BYTES_MAX) {
                Ok(text) => text,
                Err(error) => {
                    let long = refused(&error).map(|why| Over::Service(why.0.clone()));
                    return long.unwrap_or(Over::Client);
                }
            };
            match judge.judge(&text, monotonic_ns()) {
                Judged::Passed { frame, is_start } => {
                    if agent.write_all(&frame).is_err() {
                        return Over::Agent;
                    }
                    self.started.fetch_add(is_start.into(), Ordering::Relaxed);
                }
                Judged::Refused(why) => {
                    let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
                    self.say(turn, &format!("the service refuses it: {why}"));
                    let refused = ClientEvent::Refused(why.0);
                    self.shared.tell(self.peer, refused);
                }
                Judged::Last(why) => return Over::Service(why),
            }
        }
    }

    /// Passes on what the agent says, without keeping it.
    fn answer(&self, mut agent: ChildStdout) -> Over {
        let mut client = self.client;
        let mut head = [0; 4];
        while agent.read_exact(&mut head).is_ok() {
            let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
            let mut rest = (&mut agent).take(u32::from_be_bytes(head).into());
            let passed = client.write_all(&head);
            if passed
                .and_then(|()| io::copy(&mut rest, &mut client))
                .is_err()
            {
                return Over::Client;
            }
        }
        Over::Agent
    }

    /// Tells the client why the service ends the session, unless a message of the agent waits for it.
    fn farewell(&self, why: &str) {
        let until = Instant::now() + FAREWELL;
        let _ = self.client.set_write_timeout(Some(FAREWELL));
        while Instant::now() < until {
            if let Ok(turn) = self.turn.try_lock() {
                return self.say(turn, &format!("the service ends the session: {why}"));
            }
            thread::sleep(LOOK / 10);
        }
    }

    fn say(&self, _turn: MutexGuard<'_, ()>, reason: &str) {
        let message = FromAgent::Failed {
            reason: reason.to_owned(),
            cause: FailureCause::Other,
        };
        // A client that is gone is seen where it is read.
        let _ = { self.client }.write_all(&frame(&message));
    }
}
