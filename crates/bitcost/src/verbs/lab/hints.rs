//! Hints about a lab's queues, bursts and delays. A student is to find out by measuring, so they are
//! printed only on request.

use bitcost_model::topology::Topology;
use bitcost_model::units::counted;
use bitcost_study::topology::warnings;

use crate::output;

/// Prints the hints about a lab on standard error, or without `are_wanted` how many there are.
pub fn say(topology: &Topology, are_wanted: bool) {
    let hints = warnings(topology, None);
    if are_wanted {
        for hint in &hints {
            output::say(&format!("hint: {}: {}", hint.name, hint.message));
        }
    } else if !hints.is_empty() {
        output::say(&format!(
            "{} about this lab: --hints prints them",
            counted(hints.len(), "hint")
        ));
    }
}
