//! Other programs that took so much of an endpoint's CPU time that a verdict says that first.

use std::fmt;

use bitcost_model::harmless;
use bitcost_model::record::Role;

use crate::metrics::{RunView, foreign_load};

/// The CPU time of other programs, in per cent of one CPU, above which a verdict names them.
pub const OTHERS_PCT: f64 = 10.0;

/// The CPU time of one program, in per cent of one CPU, from which it has no time left.
const FULL_PCT: f64 = 90.0;

/// What other programs took at the endpoint whose host they used most.
#[derive(Clone, Debug, PartialEq)]
pub struct Others {
    /// The endpoint; absent where both share one host.
    pub role: Option<Role>,
    /// CPU time of all of them, in per cent of one CPU.
    pub pct: f64,
    /// The program that took more than half of it.
    pub most: Option<String>,
    /// Whether that program had a CPU nearly for itself, and no time left.
    pub is_full: bool,
}

impl Others {
    /// Those of a run; absent where they took at most [`OTHERS_PCT`], or their clocks are unknown.
    pub fn of(run: &RunView) -> Option<Others> {
        let roles = match run.shared_cpus {
            true => &[Role::Sender][..],
            false => &[Role::Sender, Role::Receiver],
        };
        let at = |role: &Role| Some((*role, foreign_load(run, *role)?));
        let (role, (pct, largest)) = roles
            .iter()
            .filter_map(at)
            .max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
        let most = largest.filter(|(_, of_it)| 2.0 * of_it > pct);
        let is_full = most.as_ref().is_some_and(|(_, of_it)| *of_it >= FULL_PCT);
        (pct > OTHERS_PCT).then(|| Others {
            is_full,
            role: (!run.shared_cpus).then_some(role),
            pct,
            most: most.map(|(name, _)| harmless(&name)),
        })
    }
}

impl fmt::Display for Others {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "other programs took {:.0} % of a CPU", self.pct)?;
        match self.role {
            Some(role) => write!(f, " of the {}'s host", role.name())?,
            None => write!(f, " of the host of both endpoints")?,
        }
        match &self.most {
            Some(name) => write!(f, " (most of it {name})"),
            None => Ok(()),
        }
    }
}
