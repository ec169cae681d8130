//! How agents go, in words: by their own end, by that of the other, or by silence.

use std::time::Duration;

use model::harmless;
use model::record::Role;
use wire::Lease;

use super::{Pair, ROLES, WaitError, slot};
use crate::link::{Link, OUTPUT_ENDED};

/// How long an agent, and what carries it, may take for a first sign and between two signs until it greets.
const GREETING: Duration = Duration::from_secs(20);

/// Silence after which an agent is lost. Its own lease has ended by then: its host is as before, or on the way there.
const SILENCE: Duration = Duration::from_secs(Lease::LENGTH.as_secs() + 1);

impl Pair {
    /// What an agent says of a failed run; when the other one is gone, that: it is what this one noticed.
    pub(super) fn cause(&mut self, role: Role, reason: &str) -> WaitError {
        let other = role.other();
        match self.links[slot(other)].as_mut().and_then(Link::ending) {
            Some(ending) => self.gone(other, &ending),
            None => WaitError::Failed(format!("the {}: {}", role.name(), harmless(reason))),
        }
    }

    /// Says how an agent went whose output ended or was none of ours.
    pub(super) fn died(&mut self, role: Role, reason: &str) -> WaitError {
        let link = self.links[slot(role)].as_mut();
        let has_spoken = link.as_ref().is_some_and(|link| link.has_spoken());
        match link.and_then(Link::ending) {
            Some(ending) if reason == OUTPUT_ENDED => self.gone(role, &ending),
            Some(ending) if has_spoken => self.gone(role, &format!("{reason} ({ending})")),
            _ => self.gone(role, reason),
        }
    }

    /// Lets go of an agent that is gone.
    fn gone(&mut self, role: Role, how: &str) -> WaitError {
        let was_greeted = self.links[slot(role)].take().is_some_and(|link| link.has_spoken());
        let what = format!("the agent of the {} is gone: {how}", role.name());
        let is_lost = was_greeted && !self.ends.way(role).patience.is_zero();
        if is_lost { WaitError::Lost(what) } else { WaitError::Failed(what) }
    }

    /// Lets go of agents that say nothing any more.
    pub(super) fn silent(&mut self) -> Option<WaitError> {
        let silence = |role: &Role| self.links[slot(*role)].as_ref().and_then(|link| link.silence(SILENCE, GREETING));
        let silent: Vec<(Role, Duration)> =
            ROLES.into_iter().filter_map(|role| Some((role, silence(&role)?))).collect();
        let longest = silent.iter().map(|(_, silence)| silence.as_secs()).max()?;
        let mut names = Vec::new();
        for (role, _) in silent {
            names.push(format!("the agent of the {} at {}", role.name(), self.ends.way(role).place));
            if let Some(link) = self.links[slot(role)].take() {
                link.abandon();
            }
        }
        Some(WaitError::Lost(format!(
            "nothing heard from {} for {longest} s: it hangs, or the connection is lost; an agent that hears nothing stops and restores its host within {} s",
            names.join(" and "),
            Lease::LENGTH.as_secs()
        )))
    }
}
