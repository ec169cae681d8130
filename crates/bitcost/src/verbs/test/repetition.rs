//! A line for each repetition of a test, from its events.

use bitcost_analysis::log::PlaceFacts;
use bitcost_model::event::Event;
use bitcost_model::plan::Plan;
use bitcost_render::repetitions::{repetition_failed, repetition_line};

/// What is known before a repetition ends.
#[derive(Default)]
pub struct Repetition {
    facts: PlaceFacts,
    began_at: String,
}

impl Repetition {
    /// Takes an event; returns a line once a repetition has ended or failed.
    pub fn line(&mut self, event: &Event, plan: Option<&Plan>) -> Option<String> {
        match event {
            Event::Prepared {
                shared_cpus,
                endpoints,
                ..
            } => self.facts = PlaceFacts::new(*shared_cpus, endpoints),
            Event::RunBegan { at, .. } => self.began_at.clone_from(at),
            Event::RunEnded {
                run,
                sender,
                receiver,
                ..
            } => {
                let conditions = plan?.conditions_of(*run)?;
                let view = self.facts.view([sender, receiver], conditions, None);
                return Some(repetition_line(&self.began_at, &view));
            }
            Event::RunFailed { reason, .. } => {
                return Some(repetition_failed(&self.began_at, reason));
            }
            _ => {}
        }
        None
    }
}
