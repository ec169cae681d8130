//! The search for fast options of a stream (`mode = "auto"`): which trials are made, and what is taken.
//!
//! A round varies some settings, one at a time, of the two best combinations that are known, in short
//! trials, and keeps two: the best, and the cheapest that is about as fast; after the send modes plain calls
//! are one of them, where a rate is looked for. The last round repeats the two and plain calls in longer
//! trials, in turn.

use std::ops::RangeInclusive;
use std::time::Duration;

use bitcost_model::conditions::Conditions;
use bitcost_model::modes::{MODES, Mode, setting as setting_of};
use bitcost_model::search::{Changes, Goal, Measured, Search, Trial};
use bitcost_model::{Invalid, Unavailable};

use crate::calls::{CALLS, Call};
use crate::settings::{self, change};

/// The most time of a search.
pub const BUDGET: Duration = Duration::from_secs(3);

/// The part of it that the finalists have.
const FINAL: Duration = Duration::from_millis(900);

/// Warm-up and window of a trial of a round, of one whose CPU time decides, and of a finalist, in
/// milliseconds.
const SHORT_MS: [u32; 2] = [6, 20];
const COST_MS: [u32; 2] = [6, 60];
const LONG_MS: [u32; 2] = [20, 80];

/// The times that the finalists are repeated.
const REPEATS: usize = 3;

/// The relative difference under which two combinations count as equal.
const SAME: f64 = 0.03;

/// The relative difference up to which the cheaper one of two combinations is taken for its rate.
const AS_FAST: f64 = 0.1;

/// The settings that a search varies, in the order of its rounds: first the calls of both ends, which
/// change the most. Where the time is short, later rounds are left out.
const ROUNDS: [&[&str]; 4] = [
    &["send_mode"],
    &["receive_mode"],
    &["receive_size_bytes", "receive_low_water_bytes"],
    &["receive_buffer_bytes", "messages_per_call", "waiting"],
];

/// The number of the last round, that of the finalists.
const LAST: u32 = ROUNDS.len() as u32;

/// The time for which a receiver that takes much in each call sleeps after it. The kernel adds the slack
/// of its timers, 50 µs by default (prctl(2), `PR_SET_TIMERSLACK`).
const PAUSE: &str = "50us";

/// A send and a receive mode that are tried together from the start: datagrams that arrive as one packet
/// are taken apart for other receive calls, which lose most of them.
const TOGETHER: [(&str, &str); 2] = [("send_mode", "gso"), ("receive_mode", "gro")];

pub struct ModeSearch<'a> {
    pub conditions: &'a Conditions,
    pub goal: Goal,
    /// Whether a setting stays as it is.
    pub is_kept: &'a dyn Fn(&str) -> bool,
    /// Whether conditions can be tried.
    pub possible: &'a dyn Fn(&Conditions) -> bool,
}

/// The outcome of a trial, and the time that it took.
pub type Outcome = (Result<Measured, Unavailable>, Duration);

/// What the trials so far showed.
struct Searched<'a> {
    of: &'a ModeSearch<'a>,
    trials: Vec<Trial>,
    untried: Vec<String>,
    spent: Duration,
    /// The time that the longest trial of the rounds took.
    slowest: Duration,
}

impl ModeSearch<'_> {
    /// What is found for the cell at this place of a plan by trials; absent where one has no outcome, because the user
    /// stopped it.
    ///
    /// # Errors
    /// Those of the trials.
    pub fn search<E>(
        &self,
        cell: usize,
        mut make: impl FnMut(&Conditions) -> Result<Option<Outcome>, E>,
    ) -> Result<Option<Search>, E> {
        let mut searched = Searched {
            of: self,
            trials: Vec::new(),
            untried: Vec::new(),
            spent: Duration::ZERO,
            slowest: Duration::ZERO,
        };
        let mut kept = vec![Changes::new()];
        for (round, settings) in (0..).zip(ROUNDS) {
            for one in searched.combinations(round, settings, &kept) {
                if searched.spent + searched.slowest + FINAL > BUDGET {
                    searched.untried.push(options(&one));
                    continue;
                }
                let Some(conditions) = self.with(&one, self.short()) else {
                    continue;
                };
                match make(&conditions)? {
                    Some(outcome) => searched.take(round, one, outcome),
                    None => return Ok(None),
                }
            }
            kept = searched.two_best(round);
        }
        kept.retain(|one| !one.is_empty());
        kept.push(Changes::new());
        let [warmup, window] = LONG_MS.map(|ms| Duration::from_millis(ms.into()));
        let long = searched.slowest + warmup + window;
        let in_turn = (0..REPEATS).flat_map(|time| kept.iter().map(move |one| (time, one)));
        for (time, one) in in_turn {
            let conditions = self.with(one, LONG_MS);
            let Some(conditions) =
                conditions.filter(|_| time == 0 || searched.spent + long <= BUDGET)
            else {
                break;
            };
            match make(&conditions)? {
                Some(outcome) => searched.take(LAST, one.clone(), outcome),
                None => return Ok(None),
            }
        }
        Ok(Some(searched.found(cell)))
    }

    /// Warm-up and window of a trial of a round, in milliseconds.
    fn short(&self) -> [u32; 2] {
        match self.goal {
            Goal::Rate => SHORT_MS,
            Goal::Cost => COST_MS,
        }
    }

    /// The run's conditions with these settings and these lengths, without the warm-up where that is not
    /// possible; absent where the settings are not.
    fn with(&self, settings: &Changes, [warmup_ms, duration_ms]: [u32; 2]) -> Option<Conditions> {
        let mut conditions = Conditions {
            duration_ms,
            mode_auto: false,
            search_for: Goal::Rate,
            idle_baseline_ms: Some(0),
            stop_bytes: None,
            stop_messages: None,
            latency: false,
            ..self.conditions.clone()
        };
        apply(settings, &mut conditions).ok()?;
        let lengths = [warmup_ms, 0].map(|warmup_ms| Conditions {
            warmup_ms,
            ..conditions.clone()
        });
        lengths.into_iter().find(|one| (self.possible)(one))
    }
}

impl Searched<'_> {
    /// Takes what a trial of a round showed.
    fn take(&mut self, round: u32, settings: Changes, (outcome, took): Outcome) {
        self.spent += took;
        if round < LAST {
            self.slowest = self.slowest.max(took);
        }
        let lengths = if round < LAST {
            self.of.short()
        } else {
            LONG_MS
        };
        self.trials.push(Trial {
            round,
            settings,
            window_ms: lengths[1],
            measured: outcome.as_ref().ok().copied(),
            refused: outcome.err().map(|why| why.0),
        });
    }

    /// What the trials decide.
    fn found(self, cell: usize) -> Search {
        let order = self.best(|trial| trial.round == LAST);
        let changed: Vec<Changes> = order
            .iter()
            .filter(|one| !one.is_empty())
            .cloned()
            .collect();
        // Without a result, because the time was too short, calls stay plain.
        let best = match order.first() {
            Some(first) if !first.is_empty() => self.frugal(&changed, &order, LAST..=LAST),
            first => first.cloned(),
        };
        let best = best.unwrap_or_default();
        // What had one trial in the last round is judged by its trials of all rounds.
        let of = |settings: &Changes| match self.values(settings, LAST..=LAST) {
            values if values.len() < 2 => self.values(settings, 0..=LAST),
            values => values,
        };
        let plain = of(&Changes::new());
        let is_better = !best.is_empty() && is_apart(&of(&best), &plain);
        Search {
            cell,
            goal: self.of.goal,
            taken: match is_better || plain.is_empty() {
                true => best,
                false => Changes::new(),
            },
            is_better,
            untried: self.untried,
            took_ms: self.spent.as_millis() as u64,
            trials: self.trials,
        }
    }

    /// The combinations of a round, those that were not tried yet.
    fn combinations(&self, round: u32, settings: &[&str], kept: &[Changes]) -> Vec<Changes> {
        let mut all: Vec<Changes> = vec![Changes::new()];
        for setting in settings {
            let levels = levels(self.of.conditions, setting);
            for one in kept {
                for level in &levels {
                    let changed = changed(one, setting, level);
                    match *setting {
                        "receive_mode" => all.extend(rarely_called(changed)),
                        _ => all.push(changed),
                    }
                }
            }
        }
        if round == 0 {
            all.push(
                TOGETHER
                    .map(|(name, level)| (name.to_owned(), level.to_owned()))
                    .into(),
            );
        }
        let mut new: Vec<Changes> = Vec::new();
        for one in all {
            let is_new =
                !new.contains(&one) && !self.trials.iter().any(|trial| trial.settings == one);
            let keeps = one.keys().all(|name| !(self.of.is_kept)(name));
            if is_new && keeps && self.of.with(&one, SHORT_MS).is_some() {
                new.push(one);
            }
        }
        new
    }

    /// What the trials of these rounds with these settings showed, the better the larger.
    fn values(&self, settings: &Changes, rounds: RangeInclusive<u32>) -> Vec<f64> {
        let of = self.trials_of(settings, rounds);
        of.filter_map(|trial| value(self.of.goal, trial)).collect()
    }

    /// The trials of these rounds with these settings.
    fn trials_of(
        &self,
        settings: &Changes,
        rounds: RangeInclusive<u32>,
    ) -> impl Iterator<Item = &Trial> {
        let is_of =
            move |trial: &&Trial| rounds.contains(&trial.round) && trial.settings == *settings;
        self.trials.iter().filter(is_of)
    }

    /// The best combination, and of the others the cheapest that is about as fast, or else the next best
    /// one; after the send modes plain calls, where a rate is looked for.
    fn two_best(&self, round: u32) -> Vec<Changes> {
        let order = self.best(|_| true);
        let Some((first, others)) = order.split_first() else {
            return vec![Changes::new()];
        };
        let plain = order.iter().skip(1).find(|one| one.is_empty());
        let second = match plain.filter(|_| round == 0 && self.of.goal == Goal::Rate) {
            Some(plain) => Some(plain.clone()),
            None => self.frugal(others, &order, 0..=round),
        };
        std::iter::once(first.clone()).chain(second).collect()
    }

    /// The one of these combinations with the least CPU time, of those whose rate in the trials of these
    /// rounds is about that of the first in `order`; the first of them where none is as fast, or where
    /// cost is what is looked for.
    fn frugal(
        &self,
        among: &[Changes],
        order: &[Changes],
        rounds: RangeInclusive<u32>,
    ) -> Option<Changes> {
        let rate = |one: &Changes| middle(self.values(one, rounds.clone()));
        let cost = |one: &Changes| {
            let trials = self.trials_of(one, rounds.clone());
            middle(trials.filter_map(|trial| trial.measured?.cost_us))
        };
        let fastest = order.first().and_then(rate)?;
        let as_fast = among.iter().filter(|one| {
            self.of.goal == Goal::Rate
                && rate(one).is_some_and(|rate| rate * (1.0 + AS_FAST) >= fastest)
        });
        let costs = as_fast.filter_map(|one| Some((one, cost(one)?)));
        let cheapest = costs.min_by(|a, b| a.1.total_cmp(&b.1));
        cheapest.map(|(one, _)| one).or(among.first()).cloned()
    }

    /// The combinations by the median of these trials, the best first; one that was refused is left out.
    fn best(&self, is_of: impl Fn(&Trial) -> bool) -> Vec<Changes> {
        let mut found: Vec<(Changes, Vec<f64>)> = Vec::new();
        let trials = || self.trials.iter().filter(|trial| is_of(trial));
        for trial in trials() {
            let Some(value) = value(self.of.goal, trial) else {
                continue;
            };
            match found.iter_mut().find(|(known, _)| *known == trial.settings) {
                Some((_, values)) => values.push(value),
                None => found.push((trial.settings.clone(), vec![value])),
            }
        }
        found.retain(|(settings, _)| {
            !trials().any(|trial| trial.refused.is_some() && trial.settings == *settings)
        });
        let rank = |values: &[f64]| middle(values.iter().copied()).unwrap_or(0.0);
        found.sort_by(|(_, one), (_, other)| rank(other).total_cmp(&rank(one)));
        found.into_iter().map(|(settings, _)| settings).collect()
    }
}

/// Sets these settings.
///
/// # Errors
/// As [`change`].
pub fn apply(settings: &Changes, conditions: &mut Conditions) -> Result<(), Invalid> {
    let mut settings = settings.iter();
    settings.try_for_each(|(name, value)| change(conditions, name, value))
}

/// These settings as options of `bitcost test`; `plain calls` where there are none.
pub fn options(settings: &Changes) -> String {
    let words = settings.iter().map(|(name, value)| {
        match settings::find(name).and_then(|setting| setting.flag) {
            Some(flag) => format!("--{} {value}", flag.long),
            None => format!("--set {name}={value}"),
        }
    });
    match settings.is_empty() {
        true => "plain calls".to_owned(),
        false => words.collect::<Vec<_>>().join(" "),
    }
}

/// What of an application's calls these settings change, in words; absent where its calls stay the
/// same.
pub fn calls(settings: &Changes) -> Option<String> {
    let words = settings.iter().map(|(name, value)| match &**name {
        "send_mode" => format!("{value} instead of plain send calls"),
        "receive_mode" => format!("{value} instead of plain receive calls"),
        _ => {
            let call = CALLS
                .iter()
                .find(|call| call.setting == name && call.value == value);
            call.map_or_else(String::new, |call| call.label.to_owned())
        }
    });
    let words: Vec<String> = words.filter(|words| !words.is_empty()).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

/// The settings with one of them at another level.
fn changed(settings: &Changes, name: &str, level: &Option<String>) -> Changes {
    let mut settings = settings.clone();
    match level {
        Some(level) => settings.insert(name.to_owned(), level.clone()),
        None => settings.remove(name),
    };
    settings
}

/// These settings, before them with a receiver that sleeps after each call, where its calls take all that
/// has arrived meanwhile: some receive modes are better than plain calls only where they make few calls.
fn rarely_called(settings: Changes) -> impl Iterator<Item = Changes> {
    let mode = settings.get("receive_mode").map(String::as_str);
    let sleeps = matches!(mode, Some("truncate" | "splice"))
        .then(|| changed(&settings, "receiver_delay_us", &Some(PAUSE.to_owned())));
    sleeps.into_iter().chain([settings])
}

/// The levels of a setting; absent: as the run has it.
fn levels(conditions: &Conditions, name: &str) -> Vec<Option<String>> {
    let rows = MODES
        .iter()
        .filter(|row| setting_of(row.end) == name && row.is_of(conditions.workload));
    let modes = rows.map(|row| (row.mode != Mode::Plain).then(|| row.name.to_owned()));
    let calls = Call::of(name, conditions).map(|call| Some(call.value.to_owned()));
    modes.chain(calls).collect()
}

/// What a trial showed of what is looked for, the better the larger.
fn value(goal: Goal, trial: &Trial) -> Option<f64> {
    let measured = trial.measured?;
    match goal {
        Goal::Rate => Some(measured.rate),
        Goal::Cost => Some(1.0 / measured.cost_us?.max(f64::MIN_POSITIVE)),
    }
}

/// Whether every value of one is above every value of the other, and their medians differ by more than
/// [`SAME`]; not of a single value, which a moment of the machine decides.
fn is_apart(one: &[f64], other: &[f64]) -> bool {
    if one.len().min(other.len()) < 2 {
        return false;
    }
    let least = one.iter().copied().fold(f64::INFINITY, f64::min);
    let most = other.iter().copied().fold(0.0, f64::max);
    let [one, other] = [one, other].map(|values| middle(values.iter().copied()));
    least > most && one > other.map(|value| value * (1.0 + SAME))
}

/// The middle one of the numbers; of an even count the lower of the two.
pub fn middle(numbers: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut numbers: Vec<f64> = numbers.into_iter().collect();
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len().checked_sub(1)? / 2).copied()
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Workload;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);

    /// Plays a search whose trials have these results, each of which takes this time.
    fn play(
        is_kept: &dyn Fn(&str) -> bool,
        trial: Duration,
        result: &dyn Fn(&Conditions) -> Result<f64, Unavailable>,
    ) -> Search {
        let conditions = Conditions {
            message_size_bytes: 8192,
            ..Conditions::default()
        };
        let result = |c: &Conditions| Ok(measured(result(c)?, 1.0));
        play_of(&conditions, is_kept, trial, &result)
    }

    /// A trial with this rate and this CPU time.
    fn measured(rate: f64, us_per_kib: f64) -> Measured {
        Measured {
            rate,
            cost_us: Some(us_per_kib),
        }
    }

    /// As [`play`], for runs with these conditions.
    fn play_of(
        conditions: &Conditions,
        is_kept: &dyn Fn(&str) -> bool,
        trial: Duration,
        result: &dyn Fn(&Conditions) -> Result<Measured, Unavailable>,
    ) -> Search {
        let search = ModeSearch {
            conditions,
            goal: conditions.search_for,
            is_kept,
            possible: &|conditions| conditions.check_modes(1500).is_ok(),
        };
        let found = search.search(0, |next| Ok::<_, ()>(Some((result(next), trial))));
        found.expect("trials").expect("a result")
    }

    #[test]
    fn what_decides_together_is_found() {
        let found = play(&|_| false, SHORT, &|c| {
            let is_writev = c.send_mode == Mode::Writev;
            Ok(match (is_writev, c.receive_buffer_bytes) {
                (true, Some(49_152)) => 400.0,
                (true, Some(_)) => 300.0,
                (true, None) => 110.0,
                _ => 100.0,
            })
        });
        assert_eq!(
            options(&found.taken),
            "--receive-buffer 48K --send-mode writev"
        );
        assert!(found.is_better);
        let last = found.trials.iter().filter(|trial| trial.round == 4);
        assert_eq!(last.count(), 9, "two finalists and the plain mode");
        assert_eq!(
            calls(&found.taken).as_deref(),
            Some("receive buffer 48 KiB; writev instead of plain send calls")
        );
    }

    #[test]
    fn modes_that_gain_only_together_are_found() {
        let conditions = Conditions {
            workload: Workload::UdpStream,
            message_size_bytes: 64,
            ..Conditions::default()
        };
        let found = play_of(&conditions, &|_| false, SHORT, &|c| {
            let rate = match (c.send_mode, c.receive_mode) {
                (Mode::Gso, Mode::Gro) => 400.0,
                (Mode::Plain, _) => 100.0,
                _ => 50.0,
            };
            Ok(measured(rate, 1.0))
        });
        assert_eq!(options(&found.taken), "--receive-mode gro --send-mode gso");
    }

    #[test]
    fn of_what_is_about_as_fast_the_cheapest_is_taken() {
        let conditions = Conditions {
            message_size_bytes: 131_072,
            ..Conditions::default()
        };
        let found = play_of(&conditions, &|_| false, SHORT, &|c| {
            let is_spinning = c.waiting == bitcost_model::conditions::Waiting::Spin;
            let rate = match (c.send_mode, is_spinning) {
                (Mode::Writev, true) => 205.0,
                (Mode::Writev, false) => 200.0,
                _ => 100.0,
            };
            Ok(measured(rate, if is_spinning { 2.0 } else { 1.0 }))
        });
        assert_eq!(options(&found.taken), "--send-mode writev");
        assert!(found.is_better);
    }

    #[test]
    fn receive_mode_that_is_cheap_only_with_few_calls_is_found() {
        let conditions = Conditions {
            message_size_bytes: 131_072,
            search_for: Goal::Cost,
            ..Conditions::default()
        };
        let found = play_of(&conditions, &|_| false, SHORT, &|c| {
            let us_per_kib = match (c.receive_mode, c.receiver_delay_us) {
                (Mode::Truncate, 1..) => 0.5,
                (Mode::Truncate, 0) => 1.0,
                _ => 0.9,
            };
            Ok(measured(100.0, us_per_kib))
        });
        assert_eq!(
            options(&found.taken),
            "--receive-mode truncate --set receiver_delay_us=50us"
        );
    }

    #[test]
    fn where_nothing_differs_the_plain_mode_is_taken() {
        let found = play(&|_| false, SHORT, &|_| Ok(100.0));
        assert!(found.taken.is_empty() && !found.is_better);
        assert_eq!(options(&found.taken), "plain calls");
    }

    #[test]
    fn what_is_refused_is_not_taken_and_what_is_given_is_kept() {
        let is_kept = |name: &str| name == "receive_buffer_bytes";
        let found = play(&is_kept, SHORT, &|c| match c.send_mode {
            Mode::Writev => Err(Unavailable("forbidden".to_owned())),
            Mode::Zerocopy => Ok(200.0),
            _ => Ok(100.0),
        });
        assert_eq!(options(&found.taken), "--send-mode zerocopy");
        let named = |name: &str| {
            let mut trials = found.trials.iter();
            trials.any(|trial| trial.settings.contains_key(name))
        };
        assert!(named("send_mode") && !named("receive_buffer_bytes"));
        let mut refused = found
            .trials
            .iter()
            .filter_map(|trial| trial.refused.as_ref());
        assert!(refused.all(|reason| reason == "forbidden"));
    }

    #[test]
    fn a_slow_path_has_fewer_trials_and_names_what_was_not_tried() {
        let found = play(&|_| false, Duration::from_millis(400), &|_| Ok(100.0));
        assert!(found.took_ms < 5000, "{}", found.took_ms);
        assert!(!found.untried.is_empty());
    }
}
