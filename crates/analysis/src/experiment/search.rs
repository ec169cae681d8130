//! The search for fast options of a stream (`mode = "auto"`), before its first run: in rounds of one block, each setting of
//! a group is changed in the best two combinations that are known, and a last round decides about these.

use std::time::Duration;

use bitcost_model::search::Goal;

use super::base::{Base, LONG_MS, RATE_MS};
use super::change::{Change, How, Kind, Row, with};
use super::choose::Offers;
use super::ladder::{BLOCKS_LEAST, Ladder, Rung};
use super::relax::calls::{NO_USE, levels};
use super::round::{Round, first_of_best};
use crate::explain::{Decision, Tried};

/// The settings of each round: first the calls of both ends, which change the most. Where the time is short, those at the
/// end are left out.
const ROUNDS: [&[&str]; 4] = [
    &["send_mode"],
    &["receive_mode"],
    &["receive_size_bytes", "receive_low_water_bytes"],
    &["receive_buffer_bytes", "messages_per_call", "waiting"],
];

/// The time by which a run of the round that decides is longer than the shortest of others, the runs for which time is left,
/// and the most blocks.
const LONGER: Duration =
    Duration::from_millis((LONG_MS[0] + LONG_MS[1] - RATE_MS[0] - RATE_MS[1]) as u64);
const TO_DECIDE: u32 = 6;
const BLOCKS: u32 = BLOCKS_LEAST + 2;

/// The combinations of a search.
static COMBINATION: Row = Row {
    name: "combination",
    of: &[],
    kind: Kind::Relaxes(|_| Vec::new()),
    grows: None,
};

pub struct Search<'a> {
    base: &'a Base,
    /// The rounds that were made, or left out.
    rounds: usize,
    /// What the next round changes: the best combinations, and plain calls where they are one of the best two.
    best: Vec<Change>,
    varies_plain: bool,
    /// What each trial so far showed of its change.
    trials: Vec<Tried>,
    pub ladder: Ladder,
}

impl<'a> Search<'a> {
    /// The search for the cell at this place of a plan.
    pub fn new(base: &'a Base, cell: usize) -> Search<'a> {
        let goal = base.conditions.search_for;
        let mut ladder = Ladder::new(&base.conditions, goal, Some(cell));
        ladder.rungs.push(Rung::default());
        Search {
            base,
            rounds: 0,
            best: Vec::new(),
            varies_plain: true,
            trials: Vec::new(),
            ladder,
        }
    }

    /// The changes of the next round that are possible, as many as there is time for where a trial takes this long, and its
    /// most blocks; absent after the last round.
    pub fn next(
        &mut self,
        left: Duration,
        trial: Duration,
        possible: &dyn Fn(&How) -> bool,
    ) -> Option<(Vec<Change>, u32)> {
        while let Some(settings) = ROUNDS.get(self.rounds) {
            self.rounds += 1;
            let new = self.combinations(settings, possible);
            let mut changes = [self.best.clone(), new.changes.clone()].concat();
            self.ladder.offer(&new);
            let to_decide = (trial + LONGER) * TO_DECIDE;
            let time = |count: usize| trial * (count as u32 + 1) + to_decide;
            while changes.len() > self.best.len() && time(changes.len()) > left {
                changes.pop();
            }
            if changes.len() > self.best.len() {
                return Some((changes, 1));
            }
        }
        let is_over = self.rounds > ROUNDS.len() || self.best.is_empty();
        self.rounds += 1;
        (!is_over).then(|| (self.best.clone(), BLOCKS))
    }

    /// Takes what a round shows.
    pub fn take(&mut self, round: &Round) {
        let aim = self.ladder.aim();
        let mut found = self.ladder.take(round);
        if self.rounds > ROUNDS.len() {
            // What had few trials in the last round is judged by its trials of all rounds.
            for one in found.iter_mut().filter(|one| one.blocks < BLOCKS_LEAST) {
                let mut trials = self.trials.iter().filter(|of| of.label == one.label);
                if one.limits == Decision::Open && trials.all(|of| of.limits == Decision::Open) {
                    one.limits = Decision::Limits;
                }
            }
            self.ladder.keep(round, &found);
            return;
        }
        self.trials.extend(found.iter().cloned());
        let change = |one: &Tried| round.changes.iter().find(|of| of.how.label == one.label);
        let size = |one: &Tried| change(one).map_or(0, |change| change.how.settings.len());
        let mut left: Vec<&Tried> = found.iter().filter(|one| aim.value(one) > 0.0).collect();
        // Of what is equally good, the fewest changes are best.
        left.sort_by_key(|one| size(one));
        let mut best: Vec<&Tried> = Vec::new();
        while best.len() < 2
            && let Some(one) = first_of_best(left.iter().copied(), aim)
        {
            left.retain(|other| other.label != one.label);
            best.push(one);
        }
        if best.is_empty() {
            return;
        }
        let is_second = best.get(1).is_some_and(|one| aim.value(one) > 1.0);
        // Modes that gain nothing alone are no base for all that follows.
        let is_first = self.rounds == 1 && self.ladder.goal == Goal::Rate;
        self.varies_plain = is_first || !is_second;
        best.truncate(2 - usize::from(self.varies_plain));
        best.sort_by_key(|one| size(one));
        self.best = best.into_iter().filter_map(change).cloned().collect();
    }

    /// The combinations of the best two with each level of these settings.
    fn combinations(&self, settings: &[&str], possible: &dyn Fn(&How) -> bool) -> Offers {
        let plain = self.varies_plain.then(How::default);
        let known = self.best.iter().map(|one| one.how.clone());
        let bases: Vec<How> = known.chain(plain).collect();
        let conditions = &self.base.conditions;
        let levels = settings.iter().flat_map(|name| levels(conditions, name));
        let levels: Vec<How> = levels.flat_map(|level| self.ways(level)).collect();
        let all = bases
            .iter()
            .flat_map(|base| levels.iter().map(move |level| with(base, level)));
        let changes = all.filter(|how| possible(how)).map(|how| Change {
            row: &COMBINATION,
            how,
        });
        Offers {
            changes: changes.collect(),
            untried: Vec::new(),
        }
    }

    /// A level in the ways in which it may be good: calls that throw away all that has arrived are better than plain ones
    /// only where they are few, and datagrams that arrive as one packet are taken apart for other receive calls, which lose
    /// most of them.
    fn ways(&self, level: How) -> Vec<How> {
        let of = |name: &str| level.settings.get(name).map(String::as_str);
        let name = match (of("send_mode"), of("receive_mode")) {
            (Some("gso"), _) => "receive_mode",
            (_, Some(mode)) if mode == NO_USE => "receiver_delay_us",
            _ => return vec![level],
        };
        let others = levels(&self.base.conditions, name).into_iter();
        let both = others.map(|other| with(&level, &other)).collect::<Vec<_>>();
        [both, vec![level]].concat()
    }
}
