//! A profiled run, the twin of a measured one.

use bitcost_model::Unavailable;
use bitcost_model::profile::Profile;

use super::account::RunProfile;
use super::owner::Place;
use crate::metrics::{Figures, RunView, WITH_INTERVAL};

/// A profiled run: a twin of a measured one.
#[derive(Clone, Debug)]
pub struct ProfiledRun {
    /// Its CPU time by layer, or why it is left out.
    pub profile: Result<RunProfile, Unavailable>,
    /// Its metrics, as those of a measured run.
    pub figures: Figures,
}

impl ProfiledRun {
    /// A run without a profiled twin, for this reason.
    pub(crate) fn missing(reason: String) -> ProfiledRun {
        ProfiledRun {
            profile: Err(Unavailable(reason)),
            figures: Figures::default(),
        }
    }

    /// The twin of a run, from its records and the profile of each host with its place.
    pub(crate) fn of(hosts: &[(&Profile, Place)], run: &RunView) -> ProfiledRun {
        ProfiledRun {
            profile: RunProfile::of(hosts, run),
            figures: Figures::of(|metric| {
                let is_wanted = WITH_INTERVAL.contains(&metric.name);
                is_wanted.then(|| (metric.compute)(run))?
            }),
        }
    }
}
