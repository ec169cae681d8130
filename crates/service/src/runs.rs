//! What the runs of a session came to, from the messages that pass between client and agent.

use crate::monitor::counts::Tested;
use bitcost_model::conditions::Conditions;
use bitcost_model::harmless;
use bitcost_model::protocol::{FailureCause, FromAgent, Prepare, RECORD_BYTES_MAX};
use bitcost_model::record::{EndpointRecord, Role};

use crate::frames::Frames;
use crate::rules::{Refused, Rule};

/// The start of an agent's message with the record of a run.
const RECORD: &[u8] = br#"{"from_agent":"done","#;

/// The start of an agent's message about a run that failed.
const FAILED: &[u8] = br#"{"from_agent":"failed","#;

/// Follows the runs of one session.
pub struct Runs {
    /// Absent: the agent said something that is no message, and is no longer listened to.
    frames: Option<Frames>,
    conditions: Option<Conditions>,
    is_running: bool,
    /// The rule by which the agent ended the last run.
    rule: Option<Refused>,
}

/// No run yet.
impl Default for Runs {
    fn default() -> Runs {
        Runs {
            frames: Some(Frames::new(RECORD_BYTES_MAX)),
            conditions: None,
            is_running: false,
            rule: None,
        }
    }
}

impl Runs {
    /// The client prepares a run.
    pub fn prepared(&mut self, prepare: &Prepare) {
        let first = prepare.parts.first();
        self.conditions = first.map(|part| part.conditions.clone());
    }

    /// The client starts it.
    pub fn started(&mut self) {
        self.is_running = true;
    }

    /// The agent said this; returns the figures of runs that are over.
    pub fn agent_says(&mut self, bytes: &[u8]) -> Vec<Tested> {
        let mut over = Vec::new();
        let Some(frames) = &mut self.frames else {
            return over;
        };
        frames.push(bytes);
        loop {
            match frames.take() {
                Ok(Some(text)) if text.starts_with(RECORD) => {
                    let conditions = self.conditions.as_ref().filter(|_| self.is_running);
                    over.extend(conditions.and_then(|conditions| figures(conditions, &text)));
                    self.is_running = false;
                }
                Ok(Some(text)) if text.starts_with(FAILED) => self.rule = broken_rule(&text),
                Ok(Some(_)) => {}
                Ok(None) => return over,
                Err(_) => {
                    self.frames = None;
                    return over;
                }
            }
        }
    }

    /// Takes the rule by which the agent ended a run.
    pub fn take_rule(&mut self) -> Option<Refused> {
        self.rule.take()
    }

    /// The run is over, if one takes place: it did not come to its end.
    pub fn ended(&mut self) -> Option<Tested> {
        let conditions = self.conditions.as_ref().filter(|_| self.is_running)?;
        self.is_running = false;
        Some(Tested {
            test: conditions.workload.info().short_name,
            ..Tested::default()
        })
    }
}

/// The rule that a run broke, where the agent enforces it.
fn broken_rule(text: &[u8]) -> Option<Refused> {
    let Ok(FromAgent::Failed { reason, cause }) = serde_json::from_slice(text) else {
        return None;
    };
    let rule = match cause {
        FailureCause::MaxRate => Rule::MaxRate,
        FailureCause::MaxDuration => Rule::MaxDuration,
        FailureCause::Data => Rule::Data,
        FailureCause::HostLacks | FailureCause::Other => return None,
    };
    Some(rule.refuses(harmless(&reason)))
}

fn figures(conditions: &Conditions, text: &[u8]) -> Option<Tested> {
    let Ok(FromAgent::Done(record)) = serde_json::from_slice(text) else {
        return None;
    };
    let of_role = |role: Role| {
        let first = (record.role == role).then_some(record.counts.measured.bytes);
        let others = record
            .background
            .iter()
            .filter(move |part| part.role == role);
        first.unwrap_or(0)
            + others
                .map(|part| part.all.counts.measured.bytes)
                .sum::<u64>()
    };
    let is_datagram = conditions.workload.is_datagram();
    Some(Tested {
        test: conditions.workload.info().short_name,
        is_complete: true,
        seconds: Some(record.window_seconds()),
        received_bytes: of_role(Role::Receiver),
        sent_bytes: of_role(Role::Sender),
        retransmitted: retransmitted(&record).filter(|_| !is_datagram),
        lost: record
            .sequence
            .as_ref()
            .map(|sequence| sequence.measured_lost),
        cpu_seconds: cpu_seconds(&record).filter(|_| !conditions.no_cost),
    })
}

fn retransmitted(record: &EndpointRecord) -> Option<u64> {
    let first = (record.role == Role::Sender).then_some(record.tcp_info.as_ref());
    let senders = record
        .background
        .iter()
        .filter(|part| part.role == Role::Sender);
    let others = senders.map(|part| part.all.tcp_info.as_ref());
    let counts = first.into_iter().chain(others);
    counts
        .map(|info| Some(u64::from(info?.total_retrans?)))
        .reduce(|a, b| Some(a? + b?))?
}

fn cpu_seconds(record: &EndpointRecord) -> Option<f64> {
    let (first, last) = (record.samples.first()?, record.samples.last()?);
    let ns = last.process_ns?.checked_sub(first.process_ns?)?;
    (last.at_ns > first.at_ns).then_some(ns as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frames::frame;
    use crate::policy_tests::prepare;

    #[test]
    fn a_rule_by_which_the_agent_ended_a_run_is_known() {
        let mut runs = Runs::default();
        let mut said = |cause| {
            let reason = "ended".to_owned();
            runs.agent_says(&frame(&FromAgent::Failed { reason, cause }));
            runs.take_rule()
        };
        for (cause, rule) in [
            (FailureCause::MaxRate, Some(Rule::MaxRate)),
            (FailureCause::MaxDuration, Some(Rule::MaxDuration)),
            (FailureCause::Data, Some(Rule::Data)),
            (FailureCause::HostLacks, None),
            (FailureCause::Other, None),
        ] {
            assert_eq!(said(cause), rule.map(|rule| rule.refuses("ended")));
        }
    }

    #[test]
    fn a_record_gives_figures_and_a_run_without_one_has_ended() {
        let mut runs = Runs::default();
        let mut record = EndpointRecord {
            role: Role::Receiver,
            window_start_ns: 1_000_000_000,
            window_end_ns: 3_000_000_000,
            ..EndpointRecord::default()
        };
        record.counts.measured.bytes = 1000;
        let bytes = frame(&FromAgent::Done(Box::new(record)));
        // A record without a run is nobody's.
        assert_eq!(runs.agent_says(&bytes), []);
        runs.prepared(&prepare(|_| {}));
        runs.started();
        let (head, rest) = bytes.split_at(100);
        assert_eq!(runs.agent_says(head), []);
        let found = runs.agent_says(rest);
        assert_eq!(found.len(), 1);
        let found = &found[0];
        assert_eq!((found.test, found.is_complete), ("tcp", true));
        assert_eq!(
            (found.seconds, found.received_bytes, found.sent_bytes),
            (Some(2.0), 1000, 0)
        );
        assert_eq!(
            (found.retransmitted, found.lost, found.cpu_seconds),
            (None, None, None)
        );
        assert_eq!(runs.ended(), None);
        runs.started();
        let ended = runs.ended().unwrap();
        assert_eq!((ended.is_complete, ended.seconds), (false, None));
        assert_eq!(runs.ended(), None);
    }
}
