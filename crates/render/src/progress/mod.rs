//! The view of an execution while it is made, from the events alone: a line for each run on standard error, so that standard
//! output holds only the result. If standard error cannot be written, nothing is shown and the execution continues.

mod say;
mod seconds;

use std::time::Duration;

use bitcost_model::event::Event;
use bitcost_model::harmless;
use bitcost_model::plan::Plan;
use bitcost_model::record::EndpointRecord;
use bitcost_model::units::{bits_per_second, counted, plain, show_duration};

use crate::experiment::search_sentence;

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
            } => self.made(*run, &rate(sender, receiver)),
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

fn rate(sender: &EndpointRecord, receiver: &EndpointRecord) -> String {
    // Bytes of a UDP receiver are counted by the sender's phases, so they belong to the sender's window.
    let window = match receiver.sequence {
        Some(_) => sender,
        None => receiver,
    };
    let bytes = receiver.counts.measured.bytes;
    show_rate(bits_per_second(bytes, window.window_seconds()))
}

/// `8.24 Gbit/s`, `912 Mbit/s`, in units of 10^3.
pub(crate) fn show_rate(bits_per_second: f64) -> String {
    let (scale, unit) = match bits_per_second {
        rate if rate >= 1e9 => (1e9, "Gbit/s"),
        rate if rate >= 1e6 => (1e6, "Mbit/s"),
        _ => (1e3, "kbit/s"),
    };
    format!("{} {unit}", plain(bits_per_second / scale))
}
