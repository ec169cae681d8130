//! A whole session of a client that has the host of a service: what it and its agent say, in any order, and how time passes.
//!
//! Each line of the input is a step. `rules` (JSON) comes first, if at all.
//!
//! | step | it is |
//! |---|---|
//! | `client TEXT`, `agent TEXT` | one of them sends this as a frame |
//! | `burst TEXT` | the client sends as many of this frame as the service reads at once |
//! | `half TEXT` | the agent sends half of a frame, and the rest when it sends the next one |
//! | `bytes TEXT` | the client sends these bytes |
//! | `head NUMBER` | the client sends the head of a frame of this length |
//! | `again NUMBER` | the last step takes place again, at most 100 times |
//! | `time NUMBER` | as many milliseconds pass |
//! | `read NUMBER`, `take NUMBER` | the agent, or the client, reads as many bytes |
//! | `stop` | the service is stopped |

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bitcost_model::protocol::{Confinement, FRAME_BYTES_MAX, FromAgent, ToAgent};
use bitcost_service::frames::{Frames, frame};
use bitcost_service::policy::{Policy, Rules};
use bitcost_service::{End, Judge, Queues, REFUSED_MAX, SESSION_S_MAX, WAITING_BYTES_MAX};

use super::text;

/// The most repetitions of a step.
const AGAIN_MAX: u64 = 100;

/// By how much a message may be longer than its text, which says nothing of what is as by default.
const DEFAULTS: usize = 64;

/// Bytes of one read of the service.
const READ_BYTES: usize = 64 << 10;

/// When the session begins.
const BEGIN_NS: u64 = 1_000_000_000_000;

/// Any session: nothing that the policy forbids reaches the agent, what waits is bounded, and nothing is passed after the end.
pub fn session(bytes: &[u8]) {
    let mut policy = Policy {
        rules: Rules::default(),
        peer: IpAddr::from([192, 0, 2, 1]),
        local: IpAddr::from([192, 0, 2, 2]),
        listening: SocketAddr::from(([192, 0, 2, 2], 7351)),
        device: "eth0".to_owned(),
    };
    let mut lines = bytes.split(|byte| *byte == b'\n').map(step).peekable();
    if let Some((_, text)) = lines.next_if(|(word, _)| *word == b"rules") {
        policy.rules = serde_json::from_slice(text).unwrap_or_default();
    }
    let mut session = Session::new(policy);
    let mut last = step(b"");
    for (word, text) in lines {
        if word == b"again" {
            for _ in 0..number(text).min(AGAIN_MAX) {
                session.step(last);
            }
        } else {
            last = (word, text);
            session.step(last);
        }
    }
    session.end();
}

/// A word, and what follows it.
type Step<'a> = (&'a [u8], &'a [u8]);

fn step(line: &[u8]) -> Step<'_> {
    let at = line.iter().position(|byte| *byte == b' ');
    let (word, text) = line.split_at(at.unwrap_or(line.len()));
    (word, text.get(1..).unwrap_or_default())
}

fn number(bytes: &[u8]) -> u64 {
    text(bytes).trim().parse().unwrap_or(0)
}

fn framed(text: &[u8]) -> Vec<u8> {
    [&(text.len() as u32).to_be_bytes(), text].concat()
}

/// A session, and what must be true of it.
struct Session {
    policy: Policy,
    judge: Judge,
    queues: Queues,
    /// The longest text of a step, or of a sentence of the service.
    longest: usize,
    now_ns: u64,
    /// When the present run must be over.
    run_until_ns: Option<u64>,
    /// What the client sent and is not yet judged.
    sent: Frames,
    /// Messages of it that the policy forbids.
    forbidden: u32,
    /// Messages that the client was told are refused.
    refused: u32,
    /// What goes to the client.
    told: Frames,
    /// What the agent has said of that.
    said: VecDeque<Vec<u8>>,
    /// The half of a frame that the agent has yet to say.
    half: Vec<u8>,
    is_over: bool,
}

impl Session {
    fn new(policy: Policy) -> Session {
        Session {
            judge: Judge::new(policy.clone(), Frames::new(0), BEGIN_NS),
            policy,
            queues: Queues::default(),
            longest: 1024,
            now_ns: BEGIN_NS,
            run_until_ns: None,
            sent: Frames::new(FRAME_BYTES_MAX),
            forbidden: 0,
            refused: 0,
            told: Frames::new(usize::MAX),
            said: VecDeque::new(),
            half: Vec::new(),
            is_over: false,
        }
    }

    fn step(&mut self, (word, text): Step<'_>) {
        self.longest = self.longest.max(text.len());
        match word {
            b"client" => self.client_says(&framed(text)),
            b"burst" => {
                let frame = framed(text);
                self.client_says(&frame.repeat(READ_BYTES / frame.len()));
            }
            b"bytes" => self.client_says(text),
            b"head" => self.client_says(&(number(text) as u32).to_be_bytes()),
            b"agent" => self.agent_says(text, false),
            b"half" => self.agent_says(text, true),
            b"time" => self.pass_time(number(text)),
            b"read" => drain(&mut self.queues.inward, number(text)),
            b"take" => drain(&mut self.queues.outward, number(text)),
            b"stop" if !self.is_over => {
                let before = self.lengths();
                let ended = self
                    .judge
                    .finish("the service is being stopped".to_owned(), &mut self.queues);
                self.check(before, ended);
            }
            _ => {}
        }
    }

    /// Bytes of the client are read where there is room, as the service reads them.
    fn client_says(&mut self, bytes: &[u8]) {
        self.judged(&[]);
        if self.queues.have_room() {
            self.judged(bytes);
        }
    }

    fn judged(&mut self, bytes: &[u8]) {
        let before = self.lengths();
        let judged = self.judge.client_says(bytes, &mut self.queues, self.now_ns);
        self.check(before, judged);
        self.sent.push(bytes);
        if self.is_over || !self.queues.have_room() {
            return;
        }
        // All of them are judged, and none of them ended the session.
        while let Some(text) = self.sent.take().expect("short") {
            let message = serde_json::from_slice(&text).expect("a message");
            let judged = self.policy.judge(message, self.now_ns);
            self.forbidden += u32::from(judged.is_err());
        }
        assert!(self.forbidden <= REFUSED_MAX);
    }

    /// The agent says a message, or the first half of it.
    fn agent_says(&mut self, text: &[u8], is_half: bool) {
        if self.is_over || !self.queues.have_room_for_answers() {
            return;
        }
        let before = self.lengths();
        let mut bytes = std::mem::take(&mut self.half);
        let frame = framed(text);
        let (now, later) = frame.split_at(if is_half {
            frame.len() / 2
        } else {
            frame.len()
        });
        bytes.extend_from_slice(now);
        self.half = later.to_vec();
        self.said.push_back(text.to_vec());
        self.judge.agent_says(&bytes, &mut self.queues);
        self.check(before, Ok(()));
    }

    fn pass_time(&mut self, ms: u64) {
        self.now_ns = self.now_ns.saturating_add(ms.saturating_mul(1_000_000));
        if self.is_over {
            return;
        }
        let before = self.lengths();
        let looked = self.judge.look(&mut self.queues, self.now_ns);
        self.check(before, looked);
        let longest = Duration::from_secs(SESSION_S_MAX.into());
        let is_late = self.now_ns >= after(BEGIN_NS, longest)
            || self.run_until_ns.is_some_and(|until| self.now_ns >= until);
        assert_eq!(self.is_over, is_late);
    }

    fn lengths(&self) -> [usize; 2] {
        [self.queues.inward.len(), self.queues.outward.len()]
    }

    /// What a step added to the queues of these lengths.
    fn check(&mut self, [inward, outward]: [usize; 2], ended: Result<(), End>) {
        let to_agent = self.queues.inward[inward..].to_vec();
        let to_client = self.queues.outward[outward..].to_vec();
        let refusals = std::mem::take(&mut self.judge.refusals);
        if self.is_over {
            assert!(to_agent.is_empty() && to_client.is_empty() && refusals.is_empty());
            assert!(matches!(ended, Err(End::Told)));
            return;
        }
        let most = WAITING_BYTES_MAX + DEFAULTS * self.longest;
        assert!(self.queues.inward.len() < most && self.queues.outward.len() < most);
        self.is_over = ended.is_err();
        assert_eq!(self.judge.why.is_some(), self.is_over);
        let mut passed = Frames::new(usize::MAX);
        passed.push(&to_agent);
        while let Ok(Some(text)) = passed.take() {
            self.may_pass(&text);
        }
        assert!(passed.rest().is_empty());
        self.told(&to_client);
    }

    /// The client gets whole messages: those of the agent in their order, and others of the service.
    fn told(&mut self, bytes: &[u8]) {
        self.told.push(bytes);
        while let Ok(Some(text)) = self.told.take() {
            if self.said.front() == Some(&text) {
                self.said.pop_front();
                continue;
            }
            let Ok(FromAgent::Failed { reason, .. }) = serde_json::from_slice(&text) else {
                panic!("{}", String::from_utf8_lossy(&text));
            };
            self.refused += u32::from(reason.starts_with("the service refuses it: "));
            assert!(reason.starts_with("the service ") && reason.len() < 4 << 10);
            assert!(self.refused <= REFUSED_MAX);
        }
    }

    /// The agent gets what the policy allows, and is told what to hold a run to.
    fn may_pass(&mut self, text: &[u8]) {
        let policy = &self.policy;
        let message: ToAgent = serde_json::from_slice(text).expect("a message");
        assert_eq!(
            policy.judge(message.clone(), self.now_ns).as_ref(),
            Ok(&message)
        );
        let interfaces = &policy.rules.interfaces;
        let is_open = |device: &String| interfaces.contains(device) || *device == policy.device;
        match &message {
            ToAgent::Prepare(prepare) => {
                assert!(is_open(&prepare.device));
                let confinement = Confinement {
                    peer: policy.peer,
                    listening: policy.listening,
                    max_rate_bps: policy.rules.max_rate_bps,
                    max_duration_s: policy.rules.max_duration_s,
                };
                assert_eq!(prepare.confinement.as_ref(), Some(&confinement));
                let mut parts = prepare.parts.iter();
                assert!(parts.all(|part| part.listen_on == Some(policy.local)));
                let flows = prepare.parts.iter().map(|part| part.conditions.flows);
                assert!(flows.sum::<u32>() <= policy.rules.max_flows);
            }
            ToAgent::Describe { device } | ToAgent::AddressesOf { device } => {
                assert!(is_open(device));
            }
            _ => {}
        }
        match message {
            ToAgent::Start(_) => self.run_until_ns = Some(after(self.now_ns, policy.run_limit())),
            ToAgent::Prepare(_) | ToAgent::Finish { .. } | ToAgent::Stop => {
                self.run_until_ns = None;
            }
            _ => {}
        }
    }

    /// Both sides read everything, and the service is stopped: nothing more is passed.
    fn end(&mut self) {
        self.queues = Queues::default();
        self.step((b"stop", b""));
        self.client_says(&frame(&ToAgent::Renew));
        assert!(self.queues.inward.is_empty());
    }
}

fn after(now_ns: u64, length: Duration) -> u64 {
    now_ns.saturating_add(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
}

fn drain(queue: &mut Vec<u8>, bytes: u64) {
    let length = bytes.min(queue.len() as u64) as usize;
    queue.drain(..length);
}
