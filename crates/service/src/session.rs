//! One client that has the host: its messages are judged, and passed on to a separate agent.

use std::net::SocketAddr;
use std::process::Child;
use std::time::{Duration, Instant};

use bitcost_model::harmless;
use bitcost_model::protocol::{FRAME_BYTES_MAX, FromAgent, ToAgent};
use bitcost_monitor::counts::Tested;
use bitcost_sys::clock::monotonic_ns;

use crate::channel::Channel;
use crate::event::Event;
use crate::fingerprint::Fingerprint;
use crate::frames::{Boundary, Frames, frame};
use crate::policy::Policy;
use crate::queue::Ticket;
use crate::relay::{End, Queues, Sides, farewell, relay};
use crate::runs::Runs;
use crate::shared::Shared;
use crate::store::Enrolled;

/// The time in which an agent whose input has ended restores its host and ends.
const LAST_STEPS: Duration = Duration::from_secs(8);

/// How often it is checked whether the key is still served.
const CHECK: Duration = Duration::from_secs(1);

/// Most messages of a session that are refused; one more ends it.
pub const REFUSED_MAX: u32 = 64;

/// The most letters of a sentence about a message, which may quote what the client sent.
const SENTENCE_LETTERS_MAX: usize = 500;

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
        let last = guard.figures.ended();
        guard.ran(last);
        shared.tell(Event::Ended {
            peer,
            name,
            runs: guard.runs,
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

/// The start of a sentence, where it is a long one.
fn shortened(sentence: String) -> String {
    match sentence.char_indices().nth(SENTENCE_LETTERS_MAX) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence,
    }
}

/// Judges what the client says.
struct Guard<'a> {
    session: &'a Session<'a>,
    frames: Frames,
    /// Where the service may say something between two messages of the agent.
    boundary: Boundary,
    /// What it has to say.
    said: Vec<u8>,
    session_until: Instant,
    /// When the present run must be over.
    run_until: Option<Instant>,
    checked: Instant,
    runs: u32,
    refused: u32,
    figures: Runs,
    /// Why the service ended the session.
    why: Option<String>,
}

impl<'a> Guard<'a> {
    fn new(session: &'a Session<'a>, begun: Instant) -> Guard<'a> {
        let length = Duration::from_secs(session.policy.rules.max_session_s.into());
        Guard {
            session,
            frames: Frames::new(FRAME_BYTES_MAX),
            boundary: Boundary::default(),
            said: Vec::new(),
            session_until: begun + length,
            run_until: None,
            checked: begun,
            runs: 0,
            refused: 0,
            figures: Runs::default(),
            why: None,
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
            End::Told => self.why.take(),
        }
    }

    fn message(&mut self, text: &[u8], queues: &mut Queues) -> Result<(), End> {
        let message: ToAgent = match serde_json::from_slice(text) {
            Ok(message) => message,
            Err(error) => {
                let why = harmless(&format!(
                    "not a control message of this version of bitcost: {error}"
                ));
                return self.finish(shortened(why), queues);
            }
        };
        let message = match self.session.policy.judge(message, monotonic_ns()) {
            Ok(message) => message,
            Err(rule) => return self.refuse(shortened(rule), queues),
        };
        self.follow(&message);
        // The agent gets what was judged, not what was received.
        queues.inward.extend_from_slice(&frame(&message));
        Ok(())
    }

    /// Refuses a message by this rule.
    fn refuse(&mut self, rule: String, queues: &mut Queues) -> Result<(), End> {
        self.refused += 1;
        if self.refused > REFUSED_MAX {
            let why = format!("more than {REFUSED_MAX} messages were refused");
            return self.finish(why, queues);
        }
        self.tell_of(&rule);
        self.say(&format!("the service refuses it: {rule}"), queues);
        Ok(())
    }

    /// Tells of a rule that refused a message or ended a run.
    fn tell_of(&self, rule: &str) {
        self.session.shared.tell(Event::Refused {
            peer: self.session.peer,
            name: Some(self.session.enrolled.name.clone()),
            rule: rule.to_owned(),
        });
    }

    /// Tells of runs that are over.
    fn ran(&self, runs: impl IntoIterator<Item = Tested>) {
        for figures in runs {
            self.session.shared.tell(Event::Ran {
                name: self.session.enrolled.name.clone(),
                key: self.session.key,
                figures,
            });
        }
    }

    /// Notes until when the present run takes place.
    fn follow(&mut self, message: &ToAgent) {
        if matches!(message, ToAgent::Prepare(_) | ToAgent::Stop) {
            let last = self.figures.ended();
            self.ran(last);
        }
        if let ToAgent::Prepare(prepare) = message {
            self.figures.prepared(prepare);
        }
        match message {
            ToAgent::Start(start) => {
                self.runs += 1;
                self.figures.started();
                let now = Instant::now();
                self.run_until = Some(now + self.session.policy.run_limit());
                let asked = Duration::from_nanos(start.stop_ns.saturating_sub(monotonic_ns()));
                self.session.ticket.runs_until(now.checked_add(asked));
            }
            ToAgent::Finish { .. } | ToAgent::Stop | ToAgent::Prepare(_) => {
                self.run_until = None;
                self.session.ticket.runs_until(None);
            }
            _ => {}
        }
    }

    /// Says something to the client, now or after the agent's present message.
    fn say(&mut self, reason: &str, queues: &mut Queues) {
        let message = FromAgent::Failed {
            reason: reason.to_owned(),
            host_lacks: false,
        };
        self.said.extend_from_slice(&frame(&message));
        self.say_now(queues);
    }

    fn say_now(&mut self, queues: &mut Queues) {
        if self.boundary.is_here() {
            queues.outward.append(&mut self.said);
        }
    }

    /// Says why the session ends.
    fn finish(&mut self, why: String, queues: &mut Queues) -> Result<(), End> {
        self.say(&format!("the service ends the session: {why}"), queues);
        self.why = Some(why);
        Err(End::Told)
    }
}

impl Sides for Guard<'_> {
    fn peer_says(&mut self, bytes: &[u8], queues: &mut Queues) -> Result<(), End> {
        self.frames.push(bytes);
        loop {
            match self.frames.take() {
                Ok(Some(text)) => self.message(&text, queues)?,
                Ok(None) => return Ok(()),
                Err(long) => return self.finish(long.to_string(), queues),
            }
        }
    }

    fn process_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        self.boundary.pass(bytes);
        let runs = self.figures.agent_says(bytes);
        self.ran(runs);
        if let Some(rule) = self.figures.take_rule() {
            self.tell_of(&rule);
        }
        queues.outward.extend_from_slice(bytes);
        self.say_now(queues);
    }

    fn look(&mut self, queues: &mut Queues) -> Result<(), End> {
        let now = Instant::now();
        let rules = &self.session.policy.rules;
        if self.session.shared.is_stopping() {
            return self.finish("the service is being stopped".to_owned(), queues);
        }
        if now >= self.session_until {
            let why = format!("max-session is {} s", rules.max_session_s);
            return self.finish(why, queues);
        }
        if self.run_until.is_some_and(|until| now >= until) {
            let why = format!(
                "max-duration is {} s, and the run is not over",
                rules.max_duration_s
            );
            return self.finish(why, queues);
        }
        if now.duration_since(self.checked) >= CHECK {
            self.checked = now;
            if !self.session.shared.store.has(self.session.key) {
                return self.finish("its key was revoked".to_owned(), queues);
            }
        }
        Ok(())
    }
}
