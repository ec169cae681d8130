//! The results of all deaths.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::chaos::step::Who;
use crate::chaos::verdict::{Outcome, Verdict};

/// Counts and failures.
#[derive(Debug, Default)]
pub struct Tally {
    /// At how many named steps the process that makes the step was killed, and the number of steps.
    pub steps: [usize; 2],
    deaths: usize,
    by_restore: usize,
    stops: usize,
    killed: BTreeMap<Who, usize>,
    took: Vec<Duration>,
    wrong: Vec<String>,
}

impl Tally {
    /// Counts a death.
    pub fn add(&mut self, name: &str, outcome: Outcome, say: &mut dyn FnMut(&str)) {
        self.deaths += 1;
        outcome
            .killed
            .iter()
            .for_each(|who| *self.killed.entry(*who).or_default() += 1);
        self.judge(name, outcome.verdict, say);
    }

    /// Counts a process that was stopped.
    pub fn add_stop(&mut self, name: &str, outcome: Outcome, say: &mut dyn FnMut(&str)) {
        self.stops += 1;
        self.judge(name, outcome.verdict, say);
    }

    fn judge(&mut self, name: &str, verdict: Verdict, say: &mut dyn FnMut(&str)) {
        let said = match verdict {
            Verdict::Unaided(took) => {
                self.took.push(took);
                format!("as before after {:.2} s", took.as_secs_f64())
            }
            Verdict::ByRestore => {
                self.by_restore += 1;
                "refused runs, and is as before after bitcost host restore".to_owned()
            }
            Verdict::Wrong(why) => {
                self.wrong.push(format!("{name}: {why}"));
                format!("WRONG: {why}")
            }
            Verdict::NotReached => {
                self.wrong.push(format!("{name}: the step did not come"));
                "WRONG: the step did not come".to_owned()
            }
        };
        say(&format!("{name}: {said}"));
    }

    /// The failures.
    pub fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.deaths + self.stops;
        let killed: Vec<String> = self
            .killed
            .iter()
            .map(|(who, count)| format!("{who} {count}"))
            .collect();
        let mut took = self.took.clone();
        took.sort_unstable();
        let second = |took: Option<&Duration>| took.map_or(0.0, Duration::as_secs_f64);
        writeln!(
            f,
            "{} deaths and {} stops; killed: {}",
            self.deaths,
            self.stops,
            killed.join(", ")
        )?;
        writeln!(
            f,
            "{} of {} named steps with the death of the process at that step",
            self.steps[0], self.steps[1]
        )?;
        writeln!(
            f,
            "{} of {all} as before: {} by themselves (median {:.2} s, slowest {:.2} s), {} with nobody left by bitcost host restore",
            all - self.wrong.len(),
            self.took.len(),
            second(took.get(took.len() / 2)),
            second(took.last()),
            self.by_restore
        )?;
        self.wrong
            .iter()
            .try_for_each(|wrong| writeln!(f, "WRONG: {wrong}"))
    }
}
