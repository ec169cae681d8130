//! The search for fast options of a stream (`mode = "auto"`), before its first run: in rounds of one block, each setting of
//! a group is changed in the best two combinations that are known, and a last round decides about these.

use std::time::Duration;

use bitcost_model::search::Goal;

use super::base::{Base, LONG_MS, RATE_MS};
use super::calls::{NO_USE, levels};
use super::change::{Change, How, Kind, Row, with};
use super::judge::{WORTH, figure};
use super::ladder::Ladder;
use super::proving::End;
use super::round::{Round, UNCHANGED};
use crate::explain::Tried;

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
const BLOCKS: u32 = 5;

/// The combinations of a search.
static COMBINATION: Row = Row {
    name: "combination",
    of: &[],
    kind: Kind::Relaxes(|_| Vec::new()),
    grows: None,
};

pub struct Search {
    pub base: Base,
    /// The rounds that were made, or left out.
    rounds: usize,
    /// What the next round changes: the best combinations, and plain calls where they are one of the best two.
    best: Vec<Change>,
    varies_plain: bool,
    pub ladder: Ladder,
}

impl Search {
    /// The search for the cell at this place of a plan.
    pub fn new(base: Base, cell: usize) -> Search {
        let goal = base.conditions.search_for;
        let mut ladder = Ladder::new(&base.conditions, goal, Some(cell));
        ladder.end = End::Complete;
        Search {
            base,
            rounds: 0,
            best: Vec::new(),
            varies_plain: true,
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
            let mut changes = [self.best.clone(), self.combinations(settings, possible)].concat();
            let to_decide = (trial + LONGER) * TO_DECIDE;
            let time = |count: usize| trial * (count as u32 + 1) + to_decide;
            // The first round has a trial whatever the time, so that the search has a result.
            let least = self.best.len() + usize::from(self.rounds == 1);
            while changes.len() > least && time(changes.len()) > left {
                let one = changes
                    .pop()
                    .map(|one| one.how.untried("no time was left for it"));
                self.ladder.untried.extend(one);
                self.ladder.end = End::Early;
            }
            if changes.len() > self.best.len() {
                return Some((changes, 1));
            }
        }
        self.base.trial_ms = Some(LONG_MS);
        let is_over = self.rounds > ROUNDS.len() || self.best.is_empty();
        self.rounds += 1;
        (!is_over).then(|| (self.best.clone(), BLOCKS))
    }

    /// Takes what a round shows.
    pub fn take(&mut self, round: &Round) {
        let figures = round.figures(UNCHANGED);
        if figures.0.is_none() && self.base.trial_ms != Some(LONG_MS) {
            // On a busy machine nothing may arrive within a short trial.
            self.base.trial_ms = Some(LONG_MS);
            self.rounds -= 1;
            return;
        }
        let unchanged = &mut self.ladder.rungs[0];
        if figures.0.is_some() || unchanged.rate.is_none() {
            (unchanged.rate, unchanged.cost) = figures;
        }
        let mut found = Vec::new();
        for (place, change) in (1..).zip(&round.changes) {
            let is_known = self.best.iter().any(|one| one.how == change.how);
            match round.of_change(place) {
                Some(Ok(one)) => found.push((place, one)),
                Some(Err(why)) if !is_known => self.ladder.untried.push(change.how.untried(why)),
                _ => {}
            }
        }
        // Of what is equally good, the fewest changes are best.
        let size = |(place, _): &(usize, Tried)| round.changes[place - 1].how.settings.len();
        found.sort_by_key(size);
        if self.rounds > ROUNDS.len() {
            return self.decide(round, found);
        }
        found.retain(|(_, one)| self.gain(one) > 0.0);
        let mut best = Vec::new();
        while best.len() < 2
            && let Some(first) = self.first_of_best(&found)
        {
            best.push(found.remove(first));
        }
        if best.is_empty() {
            return;
        }
        let is_second = best.get(1).is_some_and(|(_, one)| self.gain(one) > 1.0);
        // Modes that gain nothing alone are no base for all that follows.
        let is_first = self.rounds == 1 && self.ladder.goal == Goal::Rate;
        self.varies_plain = is_first || !is_second;
        best.truncate(2 - usize::from(self.varies_plain));
        best.sort_by_key(size);
        let best = best.into_iter();
        self.best = best
            .map(|(place, _)| round.changes[place - 1].clone())
            .collect();
    }

    /// Takes one combination of the last round that gains what it is worth, and is better in every block; or none.
    fn decide(&mut self, round: &Round, mut found: Vec<(usize, Tried)>) {
        self.ladder.without = found.iter().map(|(_, one)| one.clone()).collect();
        found.retain(|(_, one)| self.gain(one) >= WORTH);
        let may_gain = !found.is_empty();
        found.retain(|(place, _)| {
            let figure = |run| figure(&self.base, run);
            let mut pairs = round.pairs(*place);
            pairs.all(|(unchanged, run)| figure(run) > figure(unchanged))
        });
        if let Some(first) = self.first_of_best(&found) {
            let (place, one) = found.swap_remove(first);
            self.ladder.keep(&round.changes[place - 1], one);
            let kept = &mut self.ladder.rungs[1];
            (kept.rate, kept.cost) = round.figures(place);
        } else if may_gain && self.ladder.end == End::Complete {
            self.ladder.end = End::Undecided;
        }
    }

    /// The place of the first that is as good as the best one, within what a change is worth.
    fn first_of_best(&self, found: &[(usize, Tried)]) -> Option<usize> {
        let gains: Vec<f64> = found.iter().map(|(_, one)| self.gain(one)).collect();
        let best = gains.iter().copied().fold(0.0, f64::max);
        gains.iter().position(|gain| gain * WORTH >= best)
    }

    /// How much better a combination is; 0 where it cannot be compared.
    fn gain(&self, tried: &Tried) -> f64 {
        self.ladder.gain(tried).map_or(0.0, |gain| gain.value)
    }

    /// The combinations of the best two with each level of these settings.
    fn combinations(&self, settings: &[&str], possible: &dyn Fn(&How) -> bool) -> Vec<Change> {
        let plain = self.varies_plain.then(How::default);
        let known = self.best.iter().map(|one| one.how.clone());
        let conditions = &self.base.conditions;
        let levels = settings.iter().flat_map(|name| levels(conditions, name));
        let levels: Vec<How> = levels.flat_map(|level| self.ways(level)).collect();
        let bases = known.chain(plain);
        let all = bases.flat_map(|base| levels.iter().map(move |level| with(&base, level)));
        let row = &COMBINATION;
        all.filter(|how| possible(how))
            .map(|how| Change { row, how })
            .collect()
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
