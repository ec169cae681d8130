//! What the user asks of runs that are made in another state of the machine than the study's.

use std::time::Duration;

use bitcost_controller::{STATE_SHARE, StateLimits};
use bitcost_model::machine_state::DistanceState;
use bitcost_study::Study;

/// How runs are repeated that were made in another state of the machine than the study's.
#[derive(Clone, Debug, Default)]
pub struct States {
    /// The time that waiting and repeating may take; absent: a quarter of the time of the runs.
    pub budget: Option<Duration>,
    /// The distances between the endpoints' CPUs that the runs are to have; empty: the nearest that
    /// over a quarter of the calibration and the first block have.
    pub wanted: Vec<DistanceState>,
}

impl States {
    /// Any state of the machine, with this time for waiting and repeating.
    pub fn within(budget: Option<Duration>) -> States {
        States {
            budget,
            ..States::default()
        }
    }

    /// The limits for the missing runs of a plan, which take this time, where this much of the
    /// budget of a stop rule was spent before. How many runs a stop rule needs is not known: then a
    /// quarter of the time of those made is allowed.
    pub(crate) fn limits(self, study: &Study, missing: Duration, spent: Duration) -> StateLimits {
        let rule = study.until.as_ref();
        let within = rule.and_then(|rule| rule.budget);
        StateLimits {
            budget: self
                .budget
                .or(rule.is_none().then(|| missing / STATE_SHARE)),
            within: within.map(|budget| budget.saturating_sub(spent)),
            states: self.wanted,
        }
    }
}
