//! The search for fast options of a stream (`mode = "auto"`): which trials are made, and what is taken.
//!
//! A round varies some settings, one at a time, of the two best combinations that are known, in short
//! trials, and keeps two: the best, and the cheapest that is about as fast; after the send modes plain calls
//! are one of them, where a rate is looked for. The last round repeats the two and plain calls in longer
//! trials, in turn.

use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::time::Duration;

use bitcost_model::conditions::{Conditions, Workload};
use bitcost_model::modes::{MODES, Mode};
use bitcost_model::record::Role;
use bitcost_model::search::{Changes, Goal, Measured, Search, Trial};
use bitcost_model::{Invalid, Unavailable};

use crate::settings::{SETTINGS, Setting, set_text};

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

/// The receive buffers that hold a sender back on a short path.
const HOLDING_BACK: [&str; 4] = ["48K", "64K", "128K", "32K"];

/// The time for which a receiver that takes much in each call sleeps after it. The kernel adds the slack
/// of its timers, 50 µs by default (prctl(2), `PR_SET_TIMERSLACK`).
const PAUSE: &str = "50us";

/// A send and a receive mode that are tried together from the start: datagrams that arrive as one packet
/// are taken apart for other receive calls, which lose most of them.
const TOGETHER: [(&str, &str); 2] = [("send_mode", "gso"), ("receive_mode", "gro")];

/// A search that runs: it says what is tried next, and takes what that showed.
pub struct ModeSearch<'a> {
    conditions: Conditions,
    goal: Goal,
    is_kept: &'a dyn Fn(&str) -> bool,
    possible: &'a dyn Fn(&Conditions) -> Result<(), Invalid>,
    /// The combinations that are left of this round.
    queue: VecDeque<Changes>,
    round: usize,
    kept: Vec<Changes>,
    trials: Vec<Trial>,
    untried: Vec<String>,
    /// The time that the longest trial of the rounds took.
    slowest: Duration,
}

impl<'a> ModeSearch<'a> {
    /// The search of a run; settings that `is_kept` names stay as they are, and what is not `possible`
    /// is not tried.
    pub fn new(
        conditions: &Conditions,
        is_kept: &'a dyn Fn(&str) -> bool,
        possible: &'a dyn Fn(&Conditions) -> Result<(), Invalid>,
    ) -> ModeSearch<'a> {
        let conditions = Conditions {
            mode_auto: false,
            search_for: Goal::Rate,
            idle_baseline_ms: Some(0),
            stop_bytes: None,
            stop_messages: None,
            latency: false,
            ..conditions.clone()
        };
        let mut search = ModeSearch {
            goal: Goal::Rate,
            is_kept,
            possible,
            queue: VecDeque::new(),
            round: 0,
            kept: vec![Changes::new()],
            trials: Vec::new(),
            untried: Vec::new(),
            slowest: Duration::ZERO,
            conditions,
        };
        search.fill();
        search
    }

    /// What it looks for.
    pub fn of_goal(self, goal: Goal) -> ModeSearch<'a> {
        ModeSearch { goal, ..self }
    }

    /// The conditions of the next trial after this time; absent where the search is over.
    pub fn next(&mut self, elapsed: Duration) -> Option<Conditions> {
        while self.round < ROUNDS.len() {
            let is_late = elapsed + self.slowest + FINAL > BUDGET;
            if is_late {
                self.leave();
            }
            if let Some(settings) = self.queue.front().filter(|_| !is_late) {
                return self.with(settings, self.short());
            }
            self.kept = self.two_best();
            self.round += 1;
            self.fill();
        }
        let [warmup, window] = LONG_MS.map(|ms| Duration::from_millis(ms.into()));
        let long = self.slowest + warmup + window;
        let is_first = self.finals().count() < self.kept.len() + 1;
        let settings = self.queue.front()?;
        let is_in_time = is_first || elapsed + long <= BUDGET;
        is_in_time.then(|| self.with(settings, LONG_MS))?
    }

    /// Takes what a trial showed, which took this time.
    pub fn take(&mut self, outcome: Result<Measured, Unavailable>, took: Duration) {
        let Some(settings) = self.queue.pop_front() else {
            return;
        };
        let is_final = self.round == ROUNDS.len();
        if !is_final {
            self.slowest = self.slowest.max(took);
        }
        let (measured, refused) = match outcome {
            Ok(measured) => (Some(measured), None),
            Err(reason) => (None, Some(reason.0)),
        };
        self.trials.push(Trial {
            round: self.round as u32,
            settings,
            window_ms: if is_final { LONG_MS } else { self.short() }[1],
            measured,
            refused,
        });
    }

    /// What it found in this time for the cell at this place of the plan.
    ///
    /// # Errors
    /// The reasons, where every trial was refused.
    pub fn found(self, cell: usize, took: Duration) -> Result<Search, Unavailable> {
        let last = self.round as u32;
        let order = self.best(|trial| trial.round == last);
        let changed: Vec<Changes> = order
            .iter()
            .filter(|one| !one.is_empty())
            .cloned()
            .collect();
        if !self.trials.is_empty() && self.trials.iter().all(|trial| trial.refused.is_some()) {
            let refused = self.trials.iter().filter_map(|trial| trial.refused.clone());
            let reasons: BTreeSet<String> = refused.collect();
            let reasons: Vec<String> = reasons.into_iter().collect();
            return Err(Unavailable(reasons.join("; ")));
        }
        // Without a result, because the time was too short, calls stay plain.
        let best = match order.first() {
            Some(first) if !first.is_empty() => self.frugal(&changed, &order, last..=last),
            first => first.cloned(),
        };
        let best = best.unwrap_or_default();
        // What had one trial in the last round is judged by its trials of all rounds.
        let of = |settings: &Changes| match self.values(settings, last..=last) {
            values if values.len() < 2 => self.values(settings, 0..=last),
            values => values,
        };
        let plain = of(&Changes::new());
        let is_better = !best.is_empty() && is_apart(&of(&best), &plain);
        let taken = match is_better || plain.is_empty() {
            true => best,
            false => Changes::new(),
        };
        Ok(Search {
            cell,
            goal: self.goal,
            taken,
            is_better,
            untried: self.untried,
            took_ms: took.as_millis() as u64,
            trials: self.trials,
        })
    }

    /// The combinations of the next round, those that were not tried yet; in the last round the
    /// finalists in turn.
    fn fill(&mut self) {
        let Some(settings) = ROUNDS.get(self.round) else {
            let mut finalists = self.kept.clone();
            finalists.retain(|one| !one.is_empty());
            finalists.push(Changes::new());
            let all = std::iter::repeat_n(finalists, REPEATS);
            self.queue = all.flatten().collect();
            return;
        };
        if self.kept.is_empty() {
            self.kept.push(Changes::new());
        }
        let mut queue: Vec<Changes> = vec![Changes::new()];
        for setting in *settings {
            let levels = levels(&self.conditions, setting);
            for one in &self.kept {
                for level in &levels {
                    let changed = changed(one, setting, level);
                    match *setting {
                        "receive_mode" => queue.extend(rarely_called(changed)),
                        _ => queue.push(changed),
                    }
                }
            }
        }
        if self.round == 0 {
            queue.push(
                TOGETHER
                    .map(|(name, level)| (name.to_owned(), level.to_owned()))
                    .into(),
            );
        }
        for one in queue {
            let is_new = !self.queue.contains(&one)
                && !self.trials.iter().any(|trial| trial.settings == one);
            let keeps = one.keys().all(|name| !(self.is_kept)(name));
            if is_new && keeps && self.with(&one, SHORT_MS).is_some() {
                self.queue.push_back(one);
            }
        }
    }

    /// Drops what is left of a round.
    fn leave(&mut self) {
        let left = std::mem::take(&mut self.queue);
        self.untried.extend(left.iter().map(options));
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
            ..self.conditions.clone()
        };
        apply(settings, &mut conditions).ok()?;
        let of_warmup = |warmup_ms| Conditions {
            warmup_ms,
            ..conditions.clone()
        };
        let lengths = [warmup_ms, 0].map(of_warmup);
        lengths.into_iter().find(|one| (self.possible)(one).is_ok())
    }

    /// The trials of the last round with a result.
    fn finals(&self) -> impl Iterator<Item = &Trial> {
        let last = ROUNDS.len() as u32;
        self.trials.iter().filter(move |trial| trial.round == last)
    }

    /// What the trials of these rounds with these settings showed, the better the larger.
    fn values(&self, settings: &Changes, rounds: RangeInclusive<u32>) -> Vec<f64> {
        let of = self.trials_of(settings, rounds);
        of.filter_map(|trial| value(self.goal, trial)).collect()
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
    fn two_best(&self) -> Vec<Changes> {
        let order = self.best(|_| true);
        let Some((first, others)) = order.split_first() else {
            return Vec::new();
        };
        let plain = order.iter().skip(1).find(|one| one.is_empty());
        let second = match plain.filter(|_| self.round == 0 && self.goal == Goal::Rate) {
            Some(plain) => Some(plain.clone()),
            None => self.frugal(others, &order, 0..=self.round as u32),
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
            middle(trials.filter_map(|trial| trial.measured?.cpu_us_per_kib))
        };
        let fastest = order.first().and_then(rate)?;
        let as_fast = among.iter().filter(|one| {
            self.goal == Goal::Rate
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
            let Some(value) = value(self.goal, trial) else {
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
/// As [`set_text`]; or where there is no such setting.
pub fn apply(settings: &Changes, conditions: &mut Conditions) -> Result<(), Invalid> {
    for (name, value) in settings {
        let setting =
            setting(name).ok_or_else(|| Invalid(format!("there is no setting `{name}`")))?;
        set_text(setting, conditions, value)?;
    }
    Ok(())
}

/// These settings as options of `bitcost test`; `plain calls` where there are none.
pub fn options(settings: &Changes) -> String {
    let words =
        settings.iter().map(
            |(name, value)| match setting(name).and_then(|setting| setting.flag) {
                Some(flag) => format!("--{} {value}", flag.long),
                None => format!("--set {name}={value}"),
            },
        );
    match settings.is_empty() {
        true => "plain calls".to_owned(),
        false => words.collect::<Vec<_>>().join(" "),
    }
}

/// What of an application's calls these settings change, in words; absent where its calls stay the
/// same.
pub fn calls(settings: &Changes) -> Option<String> {
    let of = |name: &str| settings.get(name);
    let mut words = Vec::new();
    if let Some(mode) = of("send_mode") {
        let several = Mode::named(Role::Sender, mode).is_some_and(Mode::hands_over_several);
        let most = of("messages_per_call").map_or("64", String::as_str);
        let most = if mode == "gso" && of("messages_per_call").is_none() {
            "128"
        } else {
            most
        };
        words.push(match several {
            true => format!("{mode}, up to {most} messages a call"),
            false => format!("{mode} instead of send"),
        });
    }
    if let Some(mode) = of("receive_mode") {
        words.push(format!("{mode} instead of plain receive calls"));
    }
    if of("waiting").is_some() {
        words.push("receive calls that poll".to_owned());
    }
    if of("receive_size_bytes").is_some() {
        words.push("receive calls of 256 KiB".to_owned());
    }
    if of("receiver_delay_us").is_some() {
        let pause = PAUSE.replace("us", " µs");
        words.push(format!("a sleep of {pause} after each receive call"));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

fn setting(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| setting.name == name)
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
    let is_tcp = conditions.workload == Workload::TcpStream;
    let own = |levels: &[&str]| {
        levels
            .iter()
            .map(|level| Some((*level).to_owned()))
            .collect()
    };
    let modes = |end: Role| {
        let rows = MODES
            .iter()
            .filter(|row| row.end == end && row.is_of(conditions.workload));
        rows.map(|row| (row.mode != Mode::Plain).then(|| row.name.to_owned()))
            .collect()
    };
    match name {
        "send_mode" => modes(Role::Sender),
        "receive_mode" => modes(Role::Receiver),
        "messages_per_call" => own(&["8", "16"]),
        "waiting" => own(&["spin"]),
        "receive_buffer_bytes" if is_tcp => own(&HOLDING_BACK),
        "receive_low_water_bytes" if is_tcp => own(&["32K", "1M"]),
        "receive_size_bytes" if is_tcp => own(&["auto"]),
        _ => Vec::new(),
    }
}

/// What a trial showed of what is looked for, the better the larger.
fn value(goal: Goal, trial: &Trial) -> Option<f64> {
    let measured = trial.measured?;
    match goal {
        Goal::Rate => Some(measured.throughput_mbps),
        Goal::Cost => Some(1.0 / measured.cpu_us_per_kib?.max(f64::MIN_POSITIVE)),
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
    fn measured(throughput_mbps: f64, us_per_kib: f64) -> Measured {
        Measured {
            throughput_mbps,
            cpu_us_per_kib: Some(us_per_kib),
        }
    }

    /// As [`play`], for runs with these conditions.
    fn play_of(
        conditions: &Conditions,
        is_kept: &dyn Fn(&str) -> bool,
        trial: Duration,
        result: &dyn Fn(&Conditions) -> Result<Measured, Unavailable>,
    ) -> Search {
        let possible = |conditions: &Conditions| conditions.check_modes(1500);
        let mut search = ModeSearch::new(conditions, is_kept, &possible);
        let mut elapsed = Duration::ZERO;
        while let Some(next) = search.next(elapsed) {
            let outcome = result(&next);
            elapsed += trial;
            search.take(outcome, trial);
        }
        search.found(0, elapsed).expect("a result")
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
            Some("writev, up to 64 messages a call")
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
            let throughput_mbps = match (c.send_mode, c.receive_mode) {
                (Mode::Gso, Mode::Gro) => 400.0,
                (Mode::Plain, _) => 100.0,
                _ => 50.0,
            };
            Ok(measured(throughput_mbps, 1.0))
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
            let throughput_mbps = match (c.send_mode, is_spinning) {
                (Mode::Writev, true) => 205.0,
                (Mode::Writev, false) => 200.0,
                _ => 100.0,
            };
            Ok(measured(
                throughput_mbps,
                if is_spinning { 2.0 } else { 1.0 },
            ))
        });
        assert_eq!(options(&found.taken), "--send-mode writev");
        assert!(found.is_better);
    }

    #[test]
    fn receive_mode_that_is_cheap_only_with_few_calls_is_found() {
        let conditions = Conditions {
            message_size_bytes: 131_072,
            ..Conditions::default()
        };
        let possible = |conditions: &Conditions| conditions.check_modes(1500);
        let mut search = ModeSearch::new(&conditions, &|_| false, &possible).of_goal(Goal::Cost);
        let mut elapsed = Duration::ZERO;
        while let Some(next) = search.next(elapsed) {
            let us_per_kib = match (next.receive_mode, next.receiver_delay_us) {
                (Mode::Truncate, 1..) => 0.5,
                (Mode::Truncate, 0) => 1.0,
                _ => 0.9,
            };
            elapsed += SHORT;
            search.take(Ok(measured(100.0, us_per_kib)), SHORT);
        }
        let found = search.found(0, elapsed).expect("a result");
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
