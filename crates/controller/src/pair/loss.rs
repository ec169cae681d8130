//! The ways in which agents are lost, in words: an agent ends, the other one ends, or it is silent.

use std::time::Duration;

use bitcost_model::harmless;
use bitcost_model::protocol::{FailureCause, Lease};
use bitcost_model::record::Role;

use super::agent::Agent;
use super::{LOOK, Pair, WAITING_MAX};
use crate::error::{AgentEnd, RunError, Told};

/// The silence after its lease has expired after which an agent counts as lost: its host is restored, or is about to be.
const EXPIRED: Duration = Duration::from_secs(1);

/// The time that the end of an agent may be behind the failure of the other one that it causes.
const CONSEQUENCE: Duration = Duration::from_secs(1);

/// The silence after which the failure of one agent is told as a consequence of the silence of the
/// other one, which has left this many renewals without an answer.
const UNANSWERED: Duration = Duration::from_secs(3 * Lease::RENEWAL.as_secs());

impl Pair<'_> {
    /// The cause of a failed run: an agent's report, or the end or the silence of the other agent,
    /// because the report is then its consequence.
    pub(super) fn cause(&mut self, role: Role, reason: &str, cause: FailureCause) -> RunError {
        let other = role.other();
        self.has_failed[role as usize] = true;
        if !self.outage.is_zero()
            && let Some(end) = self.end_of(other)
        {
            return self.died(other, &end);
        }
        if let Some(ending) = self.agents[other as usize].as_mut().and_then(Agent::ending) {
            return self.gone(other, &ending);
        }
        // A host behind translation knows another address and port as its own.
        let service = self.endpoint(role).service;
        let tried = service.filter(|at| {
            let own = format!("port {} of {} ", at.port(), at.ip());
            cause == FailureCause::Unreached && !reason.contains(&own)
        });
        let tried = tried.map_or(String::new(), |at| {
            format!("; the other endpoint tried {at}, which must lead there")
        });
        let told = Told {
            of: Some((role, ": ")),
            words: harmless(reason) + &tried,
        };
        let meanwhile = format!("the {} agent reports: {}", role.name(), told.words);
        let lost = self.unanswered(role, &meanwhile);
        lost.unwrap_or(match cause {
            FailureCause::HostLacks | FailureCause::Unreached => RunError::Lacks(told),
            _ => RunError::Failed(told),
        })
    }

    /// How the output of an agent ends, where it does within [`CONSEQUENCE`].
    fn end_of(&mut self, role: Role) -> Option<AgentEnd> {
        let deadline = self.transport.now() + CONSEQUENCE;
        loop {
            let mut ends = self.backlog.iter().filter(|known| known.agent.role == role);
            if let Some(end) = ends.find_map(|known| known.content.as_ref().err()) {
                return Some(end.clone());
            }
            let left = deadline.saturating_sub(self.transport.now());
            if left.is_zero() || self.backlog.len() >= WAITING_MAX || self.is_gone(role) {
                return None;
            }
            self.renew();
            if let Some(incoming) = self.transport.receive(left.min(LOOK)) {
                self.take_in(incoming);
            }
        }
    }

    /// The silence of the other agent, with what happened to this one meanwhile; absent where the
    /// other one answers.
    fn unanswered(&mut self, role: Role, meanwhile: &str) -> Option<RunError> {
        let (other, now) = (role.other(), self.transport.now());
        let agent = self.agents[other as usize].as_ref()?;
        let silence = agent.silence(now, UNANSWERED)?.as_secs();
        let place = &self.endpoint(other).place;
        Some(RunError::Lost(format!(
            "nothing heard from the {} agent at {place} for {silence} s: it hangs, or the connection is lost; {meanwhile}",
            other.name()
        ).into()))
    }

    /// The description of an agent that ended, or whose output ended or contained something other
    /// than messages.
    pub(super) fn died(&mut self, role: Role, end: &AgentEnd) -> RunError {
        let agent = self.agents[role as usize].as_mut();
        let has_spoken = agent.as_ref().is_some_and(|agent| agent.has_spoken);
        match agent.and_then(Agent::ending) {
            Some(ending) if *end == AgentEnd::OutputEnded => self.gone(role, &ending),
            Some(ending) if has_spoken => self.gone(role, &format!("{end} ({ending})")),
            _ => self.gone(role, &end.to_string()),
        }
    }

    /// Drops an agent that has ended. Where the other one is silent, that is told first.
    fn gone(&mut self, role: Role, how: &str) -> RunError {
        let has_spoken = self.agents[role as usize]
            .take()
            .is_some_and(|agent| agent.has_spoken);
        let what = Told {
            of: Some((role, " agent is gone: ")),
            words: how.to_owned(),
        };
        if let Some(lost) = self.unanswered(role, &format!("the {what}")) {
            return lost;
        }
        if has_spoken && !self.endpoint(role).patience.is_zero() {
            RunError::Lost(what)
        } else {
            RunError::Failed(what)
        }
    }

    /// The lease of an agent, as it counts it itself.
    pub fn lease(&mut self, role: Role) -> Duration {
        let may_be_silent = !self.endpoint(role).patience.is_zero();
        let outage = if may_be_silent {
            self.outage
        } else {
            Duration::ZERO
        };
        outage.max(Lease::LENGTH)
    }

    pub(super) fn silent(&mut self) -> Option<RunError> {
        let now = self.transport.now();
        let (mut longest, mut lease) = (None, Duration::ZERO);
        let mut names = Vec::new();
        for role in Role::ALL {
            let own = self.lease(role);
            let agent = &mut self.agents[role as usize];
            let silence = agent
                .as_ref()
                .and_then(|agent| agent.silence(now, own + EXPIRED));
            if silence.is_none() {
                continue;
            }
            (longest, lease) = (longest.max(silence), lease.max(own));
            if let Some(mut agent) = agent.take() {
                // It is dropped here, which ends it at once.
                agent.is_abandoned = true;
            }
            let place = &self.endpoint(role).place;
            names.push(format!("the {} agent at {place}", role.name()));
        }
        let longest = longest?.as_secs();
        Some(RunError::Lost(format!(
            "nothing heard from {} for {longest} s: it hangs, or the connection is lost; an agent without a controller stops and restores its host within {} s",
            names.join(" and "),
            lease.as_secs()
        ).into()))
    }
}
