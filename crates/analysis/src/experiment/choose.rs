//! Which changes an experiment takes from the table: for a proof what takes some of the suspected resources away, to improve
//! a test what relaxes its bottleneck.

use bitcost_model::Invalid;
use bitcost_model::search::Goal;

use super::base::Base;
use super::change::{
    Change, FLOWS, How, Kind, PATH_RATE, RECEIVER_CPU, Row, SEGMENTS, SENDER_CPU, is_clamp,
    is_filled,
};
use super::table::CHANGES;
use crate::explain::{Limiter, NotTried};

/// Limiters whose changes lower the CPU time of a KiB.
const OF_COST: [&str; 4] = [
    "sender_cpu",
    "receiver_cpu",
    "wake_ups",
    "packets_per_second",
];

/// The changes of one stage of an experiment.
#[derive(Debug, Default)]
pub struct Offers {
    pub changes: Vec<Change>,
    /// Those that cannot be tried.
    pub untried: Vec<NotTried>,
}

/// Says why a change is not possible in a test.
pub type Possible<'a> = &'a dyn Fn(&How) -> Result<(), Invalid>;

impl Offers {
    /// Adds what a row offers, without what is `done`.
    fn add(&mut self, row: &'static Row, base: &Base, done: &[String], possible: Possible) {
        for offer in row.offers(base) {
            match offer {
                Ok(how) if !done.contains(&how.label) => self.take(row, how, base, possible),
                Err(untried) if !done.contains(&untried.label) => self.untried.push(untried),
                _ => {}
            }
        }
    }

    fn take(&mut self, row: &'static Row, how: How, base: &Base, possible: Possible) {
        let refused = match how.needs_root && !base.is_root() {
            true => Some("it needs root at both hosts".to_owned()),
            false => possible(&how).err().map(|why| why.to_string()),
        };
        match refused {
            Some(why) => self.untried.push(how.untried(why)),
            None => self.changes.push(Change { row, how }),
        }
    }

    /// What was taken, or refused.
    pub fn labels(&self) -> impl Iterator<Item = String> {
        let tried = self.changes.iter().map(|change| change.how.label.clone());
        tried.chain(self.untried.iter().map(|one| one.label.clone()))
    }
}

/// The changes for a proof whose labels are not among those `done` before: first the resource of the verdict, those of
/// what comes next, and the CPUs of both endpoints as controls; then all others. Where packets that are not full may be
/// what limits, also what fills them.
pub fn tightening(base: &Base, done: &[String], possible: Possible) -> Offers {
    let is_named = |row: &Row| base.named.as_ref().is_some_and(|named| row.is_of(named));
    let is_suspected = |row: &Row| {
        let mut named = base.named.iter().chain(&base.next);
        // Smaller segments tell whether a path limits bits or packets; the path's rate, whether packets or a window limit.
        let of_path = base.named.as_ref().is_some_and(Limiter::is_on_the_path);
        let of_window = base.named.as_ref().is_some_and(is_clamp);
        [SENDER_CPU, RECEIVER_CPU].contains(&row.name)
            || (of_path && row.name == SEGMENTS)
            || (of_window && row.name == PATH_RATE)
            || named.any(|limiter| row.is_of(limiter))
    };
    let (tightening, relaxing): (Vec<&Row>, Vec<&Row>) = CHANGES
        .iter()
        .partition(|row| matches!(row.kind, Kind::Tightens(_)));
    let has_own = tightening.iter().any(|row| is_named(row));
    let mut offers = Offers::default();
    for row in tightening {
        if !done.is_empty() || !has_own || is_suspected(row) {
            offers.add(row, base, done, possible);
        }
    }
    if base.named.as_ref().is_some_and(is_filled) && base.has_small_packets() {
        for row in relaxing {
            let filling = row.offers(base).into_iter().flatten();
            filling
                .filter(|how| how.fills && !done.contains(&how.label))
                .for_each(|how| offers.take(row, how, base, possible));
        }
    }
    offers
}

/// The changes of a stage of a step: of the first, those of the bottleneck; of the second, all others. `done` has the
/// labels of what was tried without gain at the same bottleneck.
pub fn relaxing(
    base: &Base,
    goal: Goal,
    stage: usize,
    done: &[String],
    possible: Possible,
) -> Offers {
    let suspects = base.suspects();
    let is_own = |row: &Row| match goal {
        Goal::Cost => row.of.iter().any(|name| OF_COST.contains(name)),
        Goal::Rate => suspects.is_empty() || suspects.iter().any(|one| row.is_of(one)),
    };
    let mut offers = Offers::default();
    for row in &CHANGES {
        // Each flow has the rate that is kept: with more of them the rate is another one.
        let is_other_rate = goal == Goal::Cost && row.name == FLOWS;
        if matches!(row.kind, Kind::Relaxes(_)) && !is_other_rate && is_own(row) == (stage == 0) {
            offers.add(row, base, done, possible);
        }
    }
    // Those of the bottleneck itself come before those of what is next.
    if let Some(named) = suspects.first() {
        offers
            .changes
            .sort_by_key(|change| !change.row.is_of(named));
    }
    offers
}
