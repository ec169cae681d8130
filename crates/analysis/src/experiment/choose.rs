//! Which changes an experiment takes from the table: large ones of what is suspected, of which only those that relax make a
//! test better.

use std::collections::BTreeMap;

use bitcost_model::Invalid;
use bitcost_model::search::Goal;
use bitcost_model::units::parse_bytes;

use super::base::Base;
use super::change::{
    CONGESTION, Change, FLOWS, How, LARGER_RECEIVE, LARGER_SEND, Offer, PATH_RATE, RECEIVER_CPU,
    Row, SEGMENTS, SENDER_CPU, WAITING,
};
use super::table::CHANGES;
use super::tighten::requested;
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
    /// What was taken, or refused.
    pub fn labels(&self) -> impl Iterator<Item = String> {
        let tried = self.changes.iter().map(|change| change.how.label.clone());
        tried.chain(self.untried.iter().map(|one| one.label.clone()))
    }
}

/// The stages of an experiment.
pub(super) const STAGES: usize = 3;

/// An endpoint that is busy for this share of the time may gain by calls that need less CPU time.
const BUSY: f64 = 0.5;

/// Changes that relax, before what takes away.
const FIRST: usize = 2;

/// What one connection may lack, and what all of them share.
const OF_ONE: [&str; 3] = [LARGER_RECEIVE, LARGER_SEND, CONGESTION];
const SHARED: [&str; 4] = [SENDER_CPU, RECEIVER_CPU, PATH_RATE, SEGMENTS];

/// The changes of a stage of an experiment whose labels are not among those `done` before: those of the limiter that the
/// counters name, and more flows; those of what comes next, and what one connection may lack where more of them `gain`,
/// else what all share; all others. For the least cost all are of one stage.
pub(super) fn of_stage(
    base: &Base,
    (stage, gain): (usize, bool),
    done: &[String],
    possible: Possible,
) -> Offers {
    let named = base.named.as_ref();
    let is_for_cost = base.goal == Some(Goal::Cost);
    let mut busy = base.load.busy.into_iter().flatten();
    let needs_cpu = is_for_cost || busy.any(|share| share >= BUSY);
    // Smaller segments tell whether a path limits bits or packets.
    let of_path = named.is_some_and(Limiter::is_on_the_path);
    let is_in = |row: &Row| match stage {
        _ if is_for_cost => true,
        0 => {
            let is_own = named.is_some_and(|named| row.is_of(named));
            row.name == FLOWS || is_own || (of_path && row.name == SEGMENTS)
        }
        1 => {
            let suspected: &[&str] = if gain { &OF_ONE } else { &SHARED };
            suspected.contains(&row.name) || base.next.iter().any(|one| row.is_of(one))
        }
        _ => true,
    };
    let is_of_cost = |row: &Row| row.of.iter().all(|name| OF_COST.contains(name));
    let mut offers = Offers::default();
    let rows = CHANGES.iter().filter(|row| is_in(row));
    for row in rows.filter(|row| row.relaxes() || base.goal.is_none()) {
        // Each flow has the rate that is requested.
        let keeps_rate = is_for_cost || requested(&base.conditions).is_some();
        let is_paced = row.name == FLOWS && keeps_rate;
        let is_cheaper = row.relaxes() && is_of_cost(row) && row.name != WAITING;
        if !(is_paced || is_cheaper && !needs_cpu) {
            for offer in of_sizes(row, row.offers(base)) {
                let (how, refused) = match offer {
                    Ok(how) => (how, None),
                    Err(cannot) => (cannot.0, Some(cannot.1)),
                };
                let needs_root = how.place.is_some() && !base.is_root();
                let refused = refused.or_else(|| match needs_root {
                    true => Some("it needs root at both hosts".to_owned()),
                    false => possible(&how).err().map(|why| why.to_string()),
                });
                match refused {
                    _ if done.contains(&how.label) => {}
                    Some(why) => offers.untried.push(how.untried(why)),
                    None => offers.changes.push(Change { row, how }),
                }
            }
        }
    }
    // Some of what relaxes comes first, one of each kind, then what takes away, then the rest.
    let (relaxing, taking): (Vec<Change>, Vec<Change>) = std::mem::take(&mut offers.changes)
        .into_iter()
        .partition(|one| one.row.relaxes());
    let mut relaxing = by_turns(relaxing).into_iter();
    offers.changes.extend(relaxing.by_ref().take(FIRST));
    offers.changes.extend(taking.into_iter().chain(relaxing));
    offers
}

/// The first change of each row, then the second of each, and so on.
fn by_turns(changes: Vec<Change>) -> Vec<Change> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    let turn = |one: Change| {
        let count = counts.entry(one.row.name).or_default();
        *count += 1;
        (*count, one)
    };
    let mut turns: Vec<(u32, Change)> = changes.into_iter().map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, one)| one).collect()
}

/// Of sizes of the same setting one, and all else.
fn of_sizes(row: &Row, mut offers: Vec<Offer>) -> Vec<Offer> {
    let size = |offer: &Offer| {
        let settings = &offer.as_ref().ok()?.settings;
        // Numbers of CPUs are no sizes.
        let mut sizes = settings.iter().filter(|(name, _)| !name.ends_with("_cpus"));
        sizes.next().and_then(|(_, value)| parse_bytes(value).ok())
    };
    let is_size = |offer: &Offer| size(offer).is_some();
    let taken = match row.is_larger() {
        true => offers.iter().rposition(is_size),
        false => offers.iter().position(is_size),
    };
    let mut place = 0..;
    offers.retain(|offer| {
        let place = place.next();
        !is_size(offer) || place == taken
    });
    offers
}
