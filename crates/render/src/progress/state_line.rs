//! Lines about searches for fast options, and about runs that are made again because the machine was
//! in another state.

use std::time::Duration;

use bitcost_model::event::Event;
use bitcost_model::harmless;
use bitcost_model::units::show_duration;

use crate::mode_search::search_sentence;
use crate::states::repeats_text;

/// The line of an event about a search or the state of the machine; absent for other events.
pub fn state_line(event: &Event) -> Option<String> {
    match event {
        Event::RunRepeated { run, reason } => {
            Some(format!("run {} is repeated: {}", run + 1, harmless(reason)))
        }
        Event::StateAwaited { run, at_most_ms } => Some(format!(
            "waiting at most {} for the study's state of the machine, to repeat run {}",
            show_duration(Duration::from_millis(*at_most_ms)),
            run + 1
        )),
        Event::Searched { search } => Some(search_sentence(search)),
        Event::StatesMet { repeats } => Some(repeats_text(repeats)),
        _ => None,
    }
}
