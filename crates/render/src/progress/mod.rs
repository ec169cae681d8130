//! The view of an execution while it is made, from the events alone: a line for each run on standard error, so that standard
//! output holds only the result. If standard error cannot be written, nothing is shown and the execution continues.

mod say;
mod seconds;

use std::time::Duration;

use bitcost_analysis::statistics::Interval;
use bitcost_model::conditions::Conditions;
use bitcost_model::event::Event;
use bitcost_model::harmless;
use bitcost_model::plan::Plan;
use bitcost_model::record::{Counts, EndpointRecord};
use bitcost_model::units::{bits_per_second, counted, show_duration};

use crate::experiment::search_sentence;
use crate::number;

pub use say::{held, say, say_whole};
pub use seconds::Seconds;

#[derive(Default)]
pub struct View {
    plan: Option<Plan>,
    left: Duration,
}

impl View {
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Planned { plan } => self.begin(plan),
            Event::Decided { decision } => {
                if let Some(words) = search_sentence(decision) {
                    say(&words);
                }
            }
            Event::RunEnded {
                run,
                sender,
                receiver,
                ..
            } => self.made(*run, &self.rate(*run, sender, receiver)),
            Event::RunFailed { run, reason, .. } => {
                self.made(*run, &format!("no result: {}", harmless(reason)));
            }
            Event::RunNotProfiled { run, reason } => {
                let run = run + 1;
                say(&format!("run {run} was not profiled: {}", harmless(reason)));
            }
            Event::Reconnecting { role, reason } => say(&format!(
                "cannot reach the {}, trying again: {}",
                role.name(),
                harmless(reason)
            )),
            _ => {}
        }
    }

    fn begin(&mut self, plan: &Plan) {
        self.left = plan.total_time();
        say(&format!(
            "{}: {} in {}, order by seed {}; about {}",
            counted(plan.runs.len(), "run"),
            counted(plan.cells.len(), "cell"),
            counted(plan.blocks as usize, "block"),
            plan.seed,
            show_duration(self.left)
        ));
        self.plan = Some(plan.clone());
    }

    /// `run 7 of 30 · 1024 · TCP on · 941 Mbit/s · 2 min left`
    fn made(&mut self, run: u32, outcome: &str) {
        self.skip(run);
        let plan = self.plan.as_ref();
        let all = plan.map_or(0, |plan| plan.runs.len());
        let cell = plan.and_then(|plan| plan.cell_of(run));
        let cell = cell.map_or_else(String::new, |cell| {
            format!(" · {}", cell.name().replace(char::is_control, " "))
        });
        let left = match self.left.is_zero() {
            true => String::new(),
            false => format!(" · {} left", show_duration(self.left)),
        };
        say(&format!("run {} of {all}{cell} · {outcome}{left}", run + 1));
    }

    fn rate(&self, run: u32, sender: &EndpointRecord, receiver: &EndpointRecord) -> String {
        let cell = self.plan.as_ref().and_then(|plan| plan.cell_of(run));
        // Bytes of a UDP receiver are counted by the sender's phases, so they belong to the sender's window.
        let window = match receiver.sequence {
            Some(_) => sender,
            None => receiver,
        };
        let counts = &receiver.counts.measured;
        let conditions = cell.map(|cell| &cell.conditions);
        rate_of(conditions, counts, window.window_seconds())
    }

    /// Leaves a run out of the time that is left.
    pub fn skip(&mut self, run: u32) {
        let Some(plan) = &self.plan else { return };
        if let Some(planned) = plan.runs.get(run as usize) {
            self.left = self.left.saturating_sub(plan.time_with_twin(planned.cell));
        }
    }
}

/// `14:05:59`, the local time of day.
pub fn time_of_day() -> String {
    jiff::ZonedDateTime::now().strftime("%H:%M:%S").to_string()
}

/// `8.24 Gbit/s`, of requests `54321 tr/s`: what was counted in this time.
fn rate_of(conditions: Option<&Conditions>, counts: &Counts, seconds: f64) -> String {
    match conditions.is_some_and(|of| of.workload.is_transactional()) {
        true => format!("{:.0} tr/s", counts.messages as f64 / seconds),
        false => {
            let mbps = bits_per_second(counts.bytes, seconds) / 1e6;
            number::throughput(&Interval::alone(mbps))
        }
    }
}
