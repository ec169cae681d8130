//! A whole session of a client that has the host of a service: what it says, in any order, and how time passes.
//!
//! Each line of the input is a step. `rules` (JSON) comes first, if at all.
//!
//! | step | it is |
//! |---|---|
//! | `client TEXT` | the client sends this as a frame |
//! | `bytes TEXT` | the client sends these bytes |
//! | `head NUMBER` | the client sends the head of a frame of this length |
//! | `again NUMBER` | the last step takes place again, at most 100 times |
//! | `time NUMBER` | as many milliseconds pass |

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bitcost_model::protocol::{Confinement, FRAME_BYTES_MAX, ToAgent};
use bitcost_service::message::{read_frame, refused};
use bitcost_service::policy::{Policy, Rules};
use bitcost_service::{Judge, Judged, REFUSED_MAX, SESSION_MAX, too_long};

use super::text;

/// The most repetitions of a step.
const AGAIN_MAX: u64 = 100;

/// When the session begins.
const BEGIN: Duration = Duration::from_secs(1000);

/// Any session: nothing that the policy forbids reaches the agent, and what is refused is bounded, and short.
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
    let mut session = Session {
        judge: Judge::new(policy.clone()),
        policy,
        lasted: Duration::ZERO,
        refused: 0,
        is_over: false,
    };
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

/// A session, and what must be true of it.
struct Session {
    policy: Policy,
    judge: Judge,
    lasted: Duration,
    /// Messages that the client was told are refused.
    refused: u32,
    is_over: bool,
}

impl Session {
    fn step(&mut self, (word, text): Step<'_>) {
        match word {
            _ if self.is_over => {}
            b"client" => self.message(text),
            b"bytes" => self.bytes(text),
            b"head" => self.bytes(&(number(text) as u32).to_be_bytes()),
            b"time" => {
                let time = Duration::from_millis(number(text));
                self.lasted = self.lasted.saturating_add(time);
                self.is_over = too_long(self.lasted).is_some();
                assert_eq!(self.is_over, self.lasted >= SESSION_MAX);
            }
            _ => {}
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        let mut left = bytes;
        while !self.is_over {
            match read_frame(&mut left, FRAME_BYTES_MAX) {
                Ok(text) => self.message(&text),
                Err(error) => {
                    assert!(refused(&error).is_some() || left.is_empty());
                    return;
                }
            }
        }
    }

    fn now_ns(&self) -> u64 {
        (BEGIN + self.lasted).as_nanos() as u64
    }

    fn message(&mut self, text: &[u8]) {
        let judged = self.judge.judge(text, self.now_ns());
        let message = || serde_json::from_slice(text).expect("a message");
        match judged {
            Judged::Passed { frame, .. } => self.may_pass(&frame[4..]),
            Judged::Refused(why) => {
                self.refused += 1;
                assert!(self.refused <= REFUSED_MAX && why.0.len() < 4 << 10);
                assert!(self.policy.judge(message(), self.now_ns()).is_err());
            }
            Judged::Last(why) => {
                assert!(why.len() < 4 << 10);
                self.is_over = true;
            }
        }
    }

    /// The agent gets what the policy allows, and is told what to hold a run to.
    fn may_pass(&self, text: &[u8]) {
        let policy = &self.policy;
        let message: ToAgent = serde_json::from_slice(text).expect("a message");
        let judged = policy.judge(message.clone(), self.now_ns());
        assert_eq!(judged.as_ref(), Ok(&message));
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
    }
}
