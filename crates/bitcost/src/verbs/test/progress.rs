//! The reports of a test that runs: a line each second, and the width of the interval after each
//! run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bitcost_analysis::summary::Precision;
use bitcost_execute::Progress;
use bitcost_model::event::Event;
use bitcost_model::harmless;
use bitcost_model::plan::Plan;
use bitcost_model::units::counted;
use bitcost_render::experiment::search_sentence;
use bitcost_render::progress::{Seconds, time_of_day};
use bitcost_render::stop_rule::stop_rule_text;

use crate::failure::Failure;
use crate::output;

/// Indent of further lines of a second, after `    1 s  `.
const HANGING: usize = 9;

/// Prints lines on standard output if the result is text, otherwise on standard error.
#[derive(Default)]
pub struct Lines {
    pub is_text: bool,
    pub is_verbose: bool,
    pub is_silent: bool,
    /// Whether a second has the time of day.
    pub is_stamped: bool,
    /// Set when standard output cannot be written any more, which ends the run.
    pub stop: Arc<AtomicBool>,
    pub plan: Option<Plan>,
    pub seconds: Option<Seconds>,
    pub has_run: bool,
    /// Why standard output did not take every line, which stopped the run.
    pub unprinted: Option<Failure>,
}

impl Lines {
    fn begin(&mut self, run: u32) {
        let cell = self.plan.as_ref().and_then(|plan| plan.cell_of(run));
        self.seconds = cell.map(|cell| Seconds::of(&cell.conditions));
    }

    fn print(&mut self, line: &str) {
        if !self.is_text {
            output::say(line);
            return;
        }
        if self.unprinted.is_none() {
            self.unprinted = output::folded(&format!("{line}\n"), HANGING).err();
        }
        if self.unprinted.is_some() {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// A note without its last parenthesis, which has the details; `show` prints them.
fn brief(note: &str) -> &str {
    let mut depth = 0;
    let opening = note.char_indices().rev().find(|(_, c)| {
        depth += i32::from(*c == ')') - i32::from(*c == '(');
        depth == 0
    });
    match opening {
        Some((at, '(')) if at > 0 && note.ends_with(')') => note[..at].trim_end(),
        _ => note,
    }
}

impl Progress for Lines {
    fn event(&mut self, event: &Event) {
        if self.is_silent {
            return;
        }
        match event {
            Event::Planned { plan } => self.plan = Some(plan.clone()),
            // The result as text says what a search found.
            Event::Decided { decision } if !self.is_text => {
                if let Some(words) = search_sentence(decision) {
                    output::say(&words);
                }
            }
            // Between named hosts the notes were reported earlier.
            Event::Prepared {
                lab: Some(_),
                notes,
                ..
            } => {
                for note in notes {
                    let shown = if self.is_verbose { note } else { brief(note) };
                    output::say(&format!("note: {shown}"));
                }
            }
            Event::RunBegan { run, .. } => self.begin(*run),
            Event::RunNotProfiled { reason, .. } => {
                output::say(&format!("the run was not profiled: {}", harmless(reason)));
            }
            Event::RunEnded { .. } => {
                self.has_run = true;
                self.seconds = None;
            }
            event => {
                let line = self
                    .seconds
                    .as_mut()
                    .and_then(|seconds| seconds.line(event));
                if let Some(line) = line {
                    let stamp = self.is_stamped.then(time_of_day).unwrap_or_default();
                    for line in line.lines() {
                        self.print(&format!("{stamp}{line}"));
                    }
                }
            }
        }
    }

    fn message(&mut self, text: &str) {
        output::say(text);
    }

    fn precision(&mut self, precision: &Precision) {
        let made = counted(precision.blocks as usize, "run");
        output::say(&format!("after {made}: {}", stop_rule_text(precision)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brief_note_has_no_details() {
        assert_eq!(brief("figures vary (why: no (1) right)"), "figures vary");
        assert_eq!(brief("all (of it) is here"), "all (of it) is here");
        assert_eq!(brief("(all)"), "(all)");
    }
}
