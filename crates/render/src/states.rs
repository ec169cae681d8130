//! What an execution did about runs that were made in another state of the machine than its own, as
//! a sentence and as JSON.

use std::time::Duration;

use bitcost_model::event::Repeats;
use bitcost_model::units::{counted, show_duration};
use serde_json::{Value, json};

/// `9 runs repeated that were made in another state of the machine: 14 s of 60 s allowed`.
pub(crate) fn repeats_text(repeats: &Repeats) -> String {
    let time = |ms: u64| show_duration(Duration::from_millis(ms));
    let (spent, allowed) = (time(repeats.spent_ms), time(repeats.allowed_ms));
    let took = format!("{spent} of {allowed} allowed");
    let left = counted(repeats.left.len(), "run");
    let verb = if repeats.left.len() == 1 { "is" } else { "are" };
    let first = match repeats.repeated {
        0 => format!("no run was repeated in the study's state of the machine: {took}"),
        1 => format!("1 run repeated that was made in another state of the machine: {took}"),
        count => {
            format!("{count} runs repeated that were made in another state of the machine: {took}")
        }
    };
    match repeats.left.len() {
        0 => first,
        _ => format!(
            "{first}; {left} {verb} still of another state, which did not end in that time (--state-budget)"
        ),
    }
}

pub(crate) fn repeats_json(repeats: &Repeats) -> Value {
    json!({
        "repeated": repeats.repeated,
        "left": repeats.left,
        "spent_s": repeats.spent_ms as f64 / 1e3,
        "allowed_s": repeats.allowed_ms as f64 / 1e3,
        "distances": repeats.states,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_repeating_took_and_what_is_left() {
        let mut repeats = Repeats {
            repeated: 9,
            spent_ms: 14_000,
            allowed_ms: 60_000,
            ..Repeats::default()
        };
        assert_eq!(
            repeats_text(&repeats),
            "9 runs repeated that were made in another state of the machine: 14 s of 60 s allowed"
        );
        (repeats.repeated, repeats.left) = (0, vec![3]);
        assert_eq!(
            repeats_text(&repeats),
            "no run was repeated in the study's state of the machine: 14 s of 60 s allowed; 1 run is still of another state, which did not end in that time (--state-budget)"
        );
    }
}
