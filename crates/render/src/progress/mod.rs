//! The live view of an execution, made from the events alone.
//!
//! On a terminal it is one line that is updated; elsewhere it is a plain line per run. Everything
//! goes to standard error, so that standard output holds only the result. If standard error cannot
//! be written, nothing is shown and the execution continues.

mod say;
mod seconds;

use std::collections::BTreeMap;
use std::time::Duration;

use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_model::record::{EndpointRecord, Role, Sample};
use bitcost_model::units::{bits_per_second, counted, show_duration};
use bitcost_model::{harmless, harmless_page};
use indicatif::{ProgressBar, ProgressStyle};

use crate::experiment::search_sentence;

pub use say::{say, say_whole};
pub use seconds::Seconds;

pub struct View {
    terminal: bool,
    plan: Option<Plan>,
    left: Duration,
    run: u32,
    last: BTreeMap<Role, Sample>,
    bar: ProgressBar,
}

impl View {
    /// A view; `terminal` says whether standard error is one.
    pub fn new(terminal: bool) -> View {
        View {
            terminal,
            plan: None,
            left: Duration::ZERO,
            run: 0,
            last: BTreeMap::new(),
            bar: ProgressBar::hidden(),
        }
    }

    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Planned { plan } => self.begin(plan),
            Event::Decided { decision } => {
                if let Some(words) = search_sentence(decision) {
                    self.line(&words);
                }
            }
            Event::RunBegan { run, .. } => self.run_began(*run),
            Event::Progress {
                role: Role::Receiver,
                sample,
                ..
            } => self.progress(sample),
            Event::RunEnded {
                run,
                sender,
                receiver,
                ..
            } => self.run_ended(*run, sender, receiver),
            Event::RunFailed { run, reason, .. } => self.run_failed(*run, reason),
            Event::RunNotProfiled { run, reason } => {
                let run = run + 1;
                self.always(&format!("run {run} was not profiled: {}", harmless(reason)));
            }
            Event::Reconnecting { role, reason } => {
                self.always(&format!(
                    "cannot reach the {}, trying again: {}",
                    role.name(),
                    harmless(reason)
                ));
            }
            Event::ExecutionEnded { .. } => self.bar.finish_and_clear(),
            _ => {}
        }
    }

    /// Marks runs as done already, if an execution is continued.
    pub fn skip(&mut self, done: impl IntoIterator<Item = u32>) {
        for run in done {
            self.count_off(run);
            self.bar.inc(1);
        }
    }

    pub fn end(&self) {
        self.bar.finish_and_clear();
    }

    fn begin(&mut self, plan: &Plan) {
        self.left = plan.total_time();
        let line = format!(
            "{}: {} in {}, order by seed {}; about {}",
            counted(plan.runs.len(), "run"),
            counted(plan.cells.len(), "cell"),
            counted(plan.blocks as usize, "block"),
            plan.seed,
            show_duration(self.left)
        );
        self.plan = Some(plan.clone());
        say(&line);
        if self.terminal {
            self.bar = ProgressBar::new(plan.runs.len() as u64);
            let style = ProgressStyle::with_template("{bar:24} {wide_msg}")
                .unwrap_or(ProgressStyle::default_bar());
            self.bar.set_style(style);
            self.bar.enable_steady_tick(Duration::from_millis(250));
        }
    }

    /// What a run does now, for the updated line, whose end is cut where the terminal is narrow:
    /// `run 7 of 30 · 941 Mbit/s · 2 min left · 1024 · TCP on`.
    fn now(&self, rate: Option<f64>) -> String {
        let title = self.title(self.run);
        let (number, name) = title.split_once(" · ").unwrap_or((&title, ""));
        let rate = rate.map_or_else(String::new, |rate| format!("{} · ", show_rate(rate)));
        let left = show_duration(self.left);
        format!("{number} · {rate}{left} left · {name}")
    }

    /// `run 7 of 30 · 1024 · TCP on`
    fn title(&self, run: u32) -> String {
        let Some(plan) = &self.plan else {
            return format!("run {}", run + 1);
        };
        let cell = plan
            .runs
            .get(run as usize)
            .and_then(|planned| plan.cells.get(planned.cell));
        let name = cell.map_or_else(String::new, |cell| {
            format!(" · {}", cell.name().replace(char::is_control, " "))
        });
        format!("run {} of {}{name}", run + 1, plan.runs.len())
    }

    fn run_began(&mut self, run: u32) {
        self.run = run;
        self.last.clear();
        self.bar.set_message(self.now(None));
    }

    fn progress(&mut self, sample: &Sample) {
        if let Some(last) = self.last.insert(Role::Receiver, sample.clone()) {
            let seconds = (sample.at_ns - last.at_ns) as f64 / 1e9;
            let bytes = sample.counts.bytes - last.counts.bytes;
            let rate = bits_per_second(bytes, seconds);
            self.bar.set_message(self.now(Some(rate)));
        }
    }

    fn run_ended(&mut self, run: u32, sender: &EndpointRecord, receiver: &EndpointRecord) {
        self.count(run);
        // Bytes of a UDP receiver are counted by the sender's phases, so they belong to the
        // sender's window.
        let window = if receiver.sequence.is_some() {
            sender
        } else {
            receiver
        };
        let rate = bits_per_second(receiver.counts.measured.bytes, window.window_seconds());
        self.line(&format!("{} · {}", self.title(run), show_rate(rate)));
    }

    fn run_failed(&mut self, run: u32, reason: &str) {
        self.count(run);
        self.always(&format!(
            "{} · no result: {}",
            self.title(run),
            harmless(reason)
        ));
    }

    fn count(&mut self, run: u32) {
        self.count_off(run);
        self.bar.inc(1);
    }

    /// A line that stays, on a terminal too.
    fn always(&self, line: &str) {
        if self.terminal {
            self.bar.println(harmless_page(line))
        } else {
            say(line)
        }
    }

    fn count_off(&mut self, run: u32) {
        if let Some(plan) = &self.plan
            && let Some(planned) = plan.runs.get(run as usize)
        {
            self.left = self.left.saturating_sub(plan.time_with_twin(planned.cell));
        }
    }

    /// A plain line, if standard error is no terminal.
    fn line(&self, text: &str) {
        if !self.terminal {
            say(text);
        }
    }
}

/// `8.24 Gbit/s`, `912 Mbit/s`, in units of 10^3.
pub(crate) fn show_rate(bits_per_second: f64) -> String {
    match bits_per_second {
        rate if rate >= 1e10 => format!("{:.1} Gbit/s", rate / 1e9),
        rate if rate >= 1e9 => format!("{:.2} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.0} Mbit/s", rate / 1e6),
        rate => format!("{:.0} kbit/s", rate / 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::show_rate;

    #[test]
    fn rates_are_in_decimal_units() {
        assert_eq!(show_rate(941_500_000.0), "942 Mbit/s");
        assert_eq!(show_rate(8_240_000_000.0), "8.24 Gbit/s");
        assert_eq!(show_rate(24_820_000_000.0), "24.8 Gbit/s");
    }
}
