//! One client that has the host: its messages are judged, and passed on to a separate agent.

use std::net::SocketAddr;
use std::process::Child;
use std::time::{Duration, Instant};

use bitcost_sys::clock::monotonic_ns;

use crate::channel::Channel;
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::frames::Frames;
use crate::judge::{Fact, Judge};
use crate::policy::Policy;
use crate::queue::Ticket;
use crate::relay::{End, Queues, Sides, farewell, relay};
use crate::shared::Shared;
use crate::store::Enrolled;

/// The time in which an agent whose input has ended restores its host and ends.
const LAST_STEPS: Duration = Duration::from_secs(8);

/// How often it is checked whether the key is still served.
const CHECK: Duration = Duration::from_secs(1);

/// A client that has the host.
pub struct Session<'a> {
    pub shared: &'a Shared,
    pub peer: SocketAddr,
    pub key: Fingerprint,
    pub enrolled: &'a Enrolled,
    pub ticket: &'a Ticket,
    pub policy: Policy,
}

impl Session<'_> {
    /// Serves until either side ends. The agent is gone when this returns.
    pub fn serve(self, stream: &mut Channel, frames: Frames) {
        let begun = Instant::now();
        let (shared, peer, name) = (self.shared, self.peer, self.enrolled.name.clone());
        shared.tell(Event::Began {
            peer,
            name: name.clone(),
        });
        let mut guard = Guard::new(&self, begun);
        let why = match shared.start_agent() {
            Ok(mut child) => {
                let why = guard.talk(stream, &mut child, frames);
                end(&mut child);
                why
            }
            Err(why) => Some(why),
        };
        guard.judge.ended();
        guard.tell();
        shared.tell(Event::Ended {
            peer,
            name,
            runs: guard.judge.started(),
            time: begun.elapsed(),
            why,
        });
    }
}

/// Waits for an agent whose input has ended, and kills it where that takes too long: its watchdog
/// then restores the host.
fn end(child: &mut Child) {
    drop(child.stdin.take());
    let until = Instant::now() + LAST_STEPS;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A session with its judge.
struct Guard<'a> {
    session: &'a Session<'a>,
    judge: Judge,
    checked: Instant,
}

impl<'a> Guard<'a> {
    fn new(session: &'a Session<'a>, begun: Instant) -> Guard<'a> {
        Guard {
            session,
            judge: Judge::new(session.policy.clone(), monotonic_ns()),
            checked: begun,
        }
    }

    /// Carries messages both ways; returns why it ended, if not by the client.
    fn talk(&mut self, stream: &mut Channel, child: &mut Child, frames: Frames) -> Option<String> {
        let (input, output) = (child.stdout.take()?, child.stdin.take()?);
        let mut queues = Queues::default();
        let early = self.peer_says(&frames.rest(), &mut queues);
        let end = match early {
            Ok(()) => relay(stream, input, output, self, queues),
            Err(end) => {
                farewell(stream, &queues);
                end
            }
        };
        match end {
            End::Peer => None,
            End::Process => Some("its agent ended".to_owned()),
            End::Broken(error) => Some(format!("the connection is lost: {error}")),
            End::Told => self.judge.why().map(str::to_owned),
        }
    }

    /// Tells the service what has happened.
    fn tell(&mut self) {
        let Session {
            shared,
            enrolled,
            ticket,
            peer,
            key,
            ..
        } = self.session;
        for fact in self.judge.facts() {
            match fact {
                Fact::Refused(why) => shared.tell(Event::Refused {
                    peer: *peer,
                    name: Some(enrolled.name.clone()),
                    why,
                }),
                Fact::Ran(figures) => shared.tell(Event::Ran {
                    name: enrolled.name.clone(),
                    key: *key,
                    figures,
                }),
                Fact::Runs(length) => {
                    let until = length.and_then(|length| Instant::now().checked_add(length));
                    ticket.runs_until(until);
                }
            }
        }
    }
}

impl Sides for Guard<'_> {
    fn peer_says(&mut self, bytes: &[u8], queues: &mut Queues) -> Result<(), End> {
        let judged = self.judge.client_says(bytes, queues, monotonic_ns());
        self.tell();
        judged
    }

    fn process_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        self.judge.agent_says(bytes, queues);
        self.tell();
    }

    fn look(&mut self, queues: &mut Queues) -> Result<(), End> {
        let Session { shared, key, .. } = self.session;
        if shared.is_stopping() {
            let why = "the service is being stopped".to_owned();
            return self.judge.finish(why, queues);
        }
        if self.checked.elapsed() >= CHECK {
            self.checked = Instant::now();
            if !shared.store.has(*key) {
                return self.judge.finish("its key was revoked".to_owned(), queues);
            }
        }
        self.judge.look(queues, monotonic_ns())
    }
}
