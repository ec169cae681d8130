//! Which perturbations are tried: first those of the verdict, of what comes next, and of the CPUs; then all others.

use super::found::is_clamp;
use super::ordinary::Ordinary;
use super::perturbation::{Perturbation, Settings, Told};
use super::perturbations::{PATH_RATE, PERTURBATIONS, RECEIVER_CPU, SEGMENTS, SENDER_CPU};
use crate::explain::{Limiter, Tried, Untried};
use bitcost_model::Invalid;

/// The most perturbations that are tried without a screening block.
const FEW: usize = 3;

/// What is tried, and what is not.
#[derive(Debug, Default)]
pub struct Chosen {
    /// Perturbations with their settings.
    pub tried: Vec<(&'static Perturbation, Settings)>,
    /// Those that cannot be tried.
    pub untried: Vec<Untried>,
}

impl Chosen {
    /// The perturbations that were chosen or refused.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let tried = self.tried.iter().map(|(row, _)| row.name);
        tried.chain(self.untried.iter().map(|one| one.name))
    }

    /// Whether one block of shorter runs is made first, in which those with an effect stand out: where nothing is suspected,
    /// there are many.
    pub fn needs_screening(&self, ordinary: &Ordinary) -> bool {
        ordinary.named.is_none() && self.tried.len() > FEW
    }

    /// Those of the perturbations with which the throughput went when they were screened; all where it went with none.
    pub fn standing_out(mut self, tried: &[Tried]) -> Chosen {
        let of = |name: &str| {
            let mut tried = tried.iter();
            tried.any(|one| one.name == name && one.stands_out())
        };
        if self.tried.iter().any(|(row, _)| of(row.name)) {
            self.tried.retain(|(row, _)| of(row.name));
        }
        self
    }
}

/// The perturbations to try that are not among those `done` before. `possible` says why settings are not possible in
/// this test.
pub fn choose(
    ordinary: &Ordinary,
    done: &[&str],
    possible: &dyn Fn(&Settings) -> Result<(), Invalid>,
) -> Chosen {
    let is_suspected = |row: &Perturbation| {
        let named = ordinary.named.iter().chain(&ordinary.next);
        let is_control = [SENDER_CPU.name, RECEIVER_CPU.name].contains(&row.name);
        // Smaller segments tell whether a path limits bits or packets; the path's rate, whether packets or a window limit.
        let of_path = ordinary.named.as_ref().is_some_and(Limiter::is_on_the_path);
        let of_window = ordinary.named.as_ref().is_some_and(is_clamp);
        is_control
            || (of_path && row.name == SEGMENTS.name)
            || (of_window && row.name == PATH_RATE.name)
            || named.into_iter().any(|limiter| row.is_of(limiter))
    };
    let has_own = PERTURBATIONS.iter().any(|row| is_of(ordinary, row));
    let mut chosen = Chosen::default();
    for row in PERTURBATIONS {
        if done.contains(&row.name) || (done.is_empty() && has_own && !is_suspected(row)) {
            continue;
        }
        if matches!(row.told, Told::With) && !(is_of(ordinary, row) && ordinary.has_small_packets())
        {
            continue;
        }
        let settings = (row.settings)(&ordinary.before());
        match settings.and_then(|settings| Ok(possible(&settings).map(|()| settings)?)) {
            Ok(settings) => chosen.tried.push((row, settings)),
            Err(reason) => chosen.untried.push(Untried {
                name: row.name,
                resource: row.resource,
                reason,
            }),
        }
    }
    chosen
}

/// Whether a perturbation is of the resource that the counters name.
pub(super) fn is_of(ordinary: &Ordinary, row: &Perturbation) -> bool {
    ordinary
        .named
        .as_ref()
        .is_some_and(|named| row.is_of(named))
}
