//! The results of all deaths and stops.

use std::fmt;
use std::time::Duration;

use crate::chaos::verdict::Verdict;

#[derive(Debug, Default)]
pub struct Tally {
    /// At how many named steps the process that makes the step was killed, and the number of steps.
    pub steps: [usize; 2],
    by_restore: usize,
    took: Vec<Duration>,
    wrong: Vec<String>,
}

impl Tally {
    /// Counts a death or a stop.
    pub fn add(&mut self, name: &str, verdict: Verdict, say: &mut dyn FnMut(&str)) {
        let wrong = match verdict {
            Verdict::Unaided(took) => {
                self.took.push(took);
                let seconds = took.as_secs_f64();
                return say(&format!("{name}: as before after {seconds:.2} s"));
            }
            Verdict::ByRestore => {
                self.by_restore += 1;
                return say(&format!(
                    "{name}: refused runs, and is as before after bitcost host restore"
                ));
            }
            Verdict::Wrong(why) => format!("{name}: {why}"),
            Verdict::NotReached => format!("{name}: the step did not come"),
        };
        say(&format!("WRONG: {wrong}"));
        self.wrong.push(wrong);
    }

    pub fn wrong(&self) -> &[String] {
        &self.wrong
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unaided, restored) = (self.took.len(), self.by_restore);
        let mut took = self.took.clone();
        took.sort_unstable();
        let second = |took: Option<&Duration>| took.map_or(0.0, Duration::as_secs_f64);
        writeln!(
            f,
            "{} deaths and stops, of which {} of {} named steps with the death of the process at that step",
            unaided + restored + self.wrong.len(),
            self.steps[0],
            self.steps[1]
        )?;
        writeln!(
            f,
            "as before: {unaided} by themselves (median {:.2} s, slowest {:.2} s), {restored} with nobody left by bitcost host restore",
            second(took.get(took.len() / 2)),
            second(took.last())
        )?;
        self.wrong
            .iter()
            .try_for_each(|wrong| writeln!(f, "WRONG: {wrong}"))
    }
}
