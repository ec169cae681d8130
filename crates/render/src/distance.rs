//! How far the endpoints' CPUs were from each other in the runs of an execution, as sentences and as
//! JSON.

use bitcost_analysis::cells::Distances;
use bitcost_model::units::counted;
use serde_json::{Value, json};

/// One sentence: the round trips at both distances, how many runs had them, and of which the figures
/// are.
pub(crate) fn distances_text(found: &Distances) -> String {
    let trips = |(least, most): (f64, f64)| match format!("{least:.0}") == format!("{most:.0}") {
        true => format!("{least:.0} ns"),
        false => format!("{least:.0} to {most:.0} ns"),
    };
    let runs = format!(
        "a cache line's round trip between the endpoints' CPUs took {} in {} and {} in {}",
        trips(found.kept_ns),
        counted(found.kept, "run"),
        trips(found.others_ns),
        counted(found.others, "other run"),
    );
    let cause = "as where a hypervisor moves a CPU to other cores";
    match found.is_selected {
        true => format!("{runs}, which are left out: {cause}"),
        false => format!(
            "{runs}: {cause}. The figures are of all of them, because some cells have fewer than 3 runs at any one distance; more blocks would separate them (--blocks)"
        ),
    }
}

/// `16 of 40 runs left out: the endpoints' CPUs were farther apart`.
pub(crate) fn distances_caveat(found: &Distances) -> String {
    let runs = found.kept + found.others;
    let where_they_were = match found.others_ns.0 > found.kept_ns.1 {
        true => "farther apart",
        false => "at other distances",
    };
    let others = found.others;
    match found.is_selected {
        true => {
            format!("{others} of {runs} runs left out: the endpoints' CPUs were {where_they_were}")
        }
        false => format!("in {others} of {runs} runs the endpoints' CPUs were {where_they_were}"),
    }
}

pub(crate) fn distances_json(found: &Distances) -> Value {
    json!({
        "kept_ns": found.kept_ns,
        "kept_runs": found.kept,
        "others_ns": found.others_ns,
        "other_runs": found.others,
        "others_left_out": found.is_selected,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(is_selected: bool) -> Distances {
        Distances {
            kept_ns: (50.2, 74.8),
            kept: 24,
            others_ns: (116.0, 454.0),
            others: 16,
            is_selected,
            states: Vec::new(),
        }
    }

    #[test]
    fn runs_that_are_left_out_are_told_with_their_cause() {
        assert_eq!(
            distances_text(&found(true)),
            "a cache line's round trip between the endpoints' CPUs took 50 to 75 ns in 24 runs and 116 to 454 ns in 16 other runs, which are left out: as where a hypervisor moves a CPU to other cores"
        );
        assert_eq!(
            distances_caveat(&found(true)),
            "16 of 40 runs left out: the endpoints' CPUs were farther apart"
        );
    }

    #[test]
    fn where_the_figures_are_of_both_that_is_told() {
        let text = distances_text(&found(false));
        assert!(text.contains("The figures are of all of them"), "{text}");
        assert_eq!(
            distances_caveat(&found(false)),
            "in 16 of 40 runs the endpoints' CPUs were farther apart"
        );
    }
}
