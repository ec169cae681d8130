//! What passes between a client that has the host and its agent: each message is judged, and what a rule forbids does not
//! reach the agent.

use std::time::Duration;

use bitcost_model::harmless;
use bitcost_model::protocol::{FRAME_BYTES_MAX, FailureCause, FromAgent, ToAgent};

use crate::frames::{Boundary, Frames, frame};
use crate::message::Refused;
use crate::policy::Policy;
use crate::relay::{End, Queues};

/// Most messages of a session that are refused; one more ends it.
pub const REFUSED_MAX: u32 = 64;

/// The most letters of a sentence about a message, which may quote what the client sent.
const SENTENCE_LETTERS_MAX: usize = 500;

/// The longest time for which a client may have the host, in seconds.
pub const SESSION_S_MAX: u32 = 3600;

/// Judges one session. All times are those of the agent's monotonic clock, in nanoseconds.
pub struct Judge {
    policy: Policy,
    frames: Frames,
    /// Where the service may say something between two messages of the agent.
    boundary: Boundary,
    said: Vec<u8>,
    session_until_ns: u64,
    /// When the present run must be over.
    run_until_ns: Option<u64>,
    refused: u32,
    pub refusals: Vec<Refused>,
    pub started: u32,
    /// Why the service ended the session; absent where it did not.
    pub why: Option<String>,
}

fn after(now_ns: u64, length: Duration) -> u64 {
    let length = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
    now_ns.saturating_add(length)
}

fn shortened(sentence: String) -> String {
    match sentence.char_indices().nth(SENTENCE_LETTERS_MAX) {
        Some((end, _)) => format!("{}…", &sentence[..end]),
        None => sentence,
    }
}

impl Judge {
    /// `frames` has what the client said before it had the host.
    pub fn new(policy: Policy, mut frames: Frames, now_ns: u64) -> Judge {
        frames.allow(FRAME_BYTES_MAX);
        let length = Duration::from_secs(SESSION_S_MAX.into());
        Judge {
            policy,
            frames,
            boundary: Boundary::default(),
            said: Vec::new(),
            session_until_ns: after(now_ns, length),
            run_until_ns: None,
            started: 0,
            refused: 0,
            refusals: Vec::new(),
            why: None,
        }
    }

    /// Judges bytes of the client, and those that came before them and found no room. A message that
    /// finds none waits.
    pub fn client_says(
        &mut self,
        bytes: &[u8],
        queues: &mut Queues,
        now_ns: u64,
    ) -> Result<(), End> {
        if self.why.is_some() {
            return Err(End::Told);
        }
        self.frames.push(bytes);
        while queues.have_room() {
            match self.frames.take() {
                Ok(Some(text)) => self.message(&text, queues, now_ns)?,
                Ok(None) => break,
                Err(long) => return self.finish(long.0, queues),
            }
        }
        Ok(())
    }

    pub fn agent_says(&mut self, bytes: &[u8], queues: &mut Queues) {
        self.boundary.pass(bytes);
        queues.outward.extend_from_slice(bytes);
        self.say_now(queues);
    }

    /// Ends the session where its time, or that of its run, is over.
    pub fn look(&mut self, queues: &mut Queues, now_ns: u64) -> Result<(), End> {
        if now_ns >= self.session_until_ns {
            let why = format!("a client has the host for at most {SESSION_S_MAX} s");
            return self.finish(why, queues);
        }
        if self.run_until_ns.is_some_and(|until| now_ns >= until) {
            let why = format!(
                "max-duration is {} s, and the run is not over",
                self.policy.rules.max_duration_s
            );
            return self.finish(why, queues);
        }
        Ok(())
    }

    /// Ends the session, and tells the client why.
    ///
    /// # Errors
    /// Always, so that what asked for it goes on with that.
    pub fn finish(&mut self, why: String, queues: &mut Queues) -> Result<(), End> {
        self.say(&format!("the service ends the session: {why}"), queues);
        self.why = Some(why);
        Err(End::Told)
    }

    fn message(&mut self, text: &[u8], queues: &mut Queues, now_ns: u64) -> Result<(), End> {
        let message: ToAgent = match serde_json::from_slice(text) {
            Ok(message) => message,
            Err(error) => {
                let why = harmless(&format!(
                    "not a control message of this version of bitcost: {error}"
                ));
                return self.finish(shortened(why), queues);
            }
        };
        let message = match self.policy.judge(message, now_ns) {
            Ok(message) => message,
            Err(refused) => return self.refuse(refused, queues),
        };
        self.follow(&message, now_ns);
        // The agent gets what was judged, not what was received.
        queues.inward.extend_from_slice(&frame(&message));
        Ok(())
    }

    fn refuse(&mut self, refused: Refused, queues: &mut Queues) -> Result<(), End> {
        self.refused += 1;
        if self.refused > REFUSED_MAX {
            let why = format!("more than {REFUSED_MAX} messages were refused");
            return self.finish(why, queues);
        }
        let refused = Refused(shortened(refused.0));
        self.say(&format!("the service refuses it: {refused}"), queues);
        self.refusals.push(refused);
        Ok(())
    }

    fn follow(&mut self, message: &ToAgent, now_ns: u64) {
        match message {
            ToAgent::Start(_) => {
                self.started += 1;
                self.run_until_ns = Some(after(now_ns, self.policy.run_limit()));
            }
            ToAgent::Finish { .. } | ToAgent::Stop | ToAgent::Prepare(_) => {
                self.run_until_ns = None;
            }
            _ => {}
        }
    }

    /// Says something to the client, now or after the agent's present message.
    fn say(&mut self, reason: &str, queues: &mut Queues) {
        let message = FromAgent::Failed {
            reason: reason.to_owned(),
            cause: FailureCause::Other,
        };
        self.said.extend_from_slice(&frame(&message));
        self.say_now(queues);
    }

    fn say_now(&mut self, queues: &mut Queues) {
        if self.boundary.is_here() {
            queues.outward.append(&mut self.said);
        }
    }
}
