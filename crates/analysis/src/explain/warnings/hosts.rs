//! Warnings about the hosts: governors and frequencies.

use super::found::{Study, Warning};

/// A frequency that changes by more than this share changes costs.
const CHANGED: f64 = 0.05;

/// The governor that keeps a frequency.
const STEADY: &str = "performance";

/// A governor that may change the frequency during runs.
pub fn governor(study: &Study) -> Vec<Warning> {
    let warning = |end: &bitcost_model::event::EndpointDescription| {
        let governor = end
            .host
            .governor
            .as_deref()
            .filter(|governor| *governor != STEADY)?;
        Some(Warning {
            name: "governor",
            weight: 0.05,
            found: format!("the {}'s frequency governor is {governor}", end.role.name()),
            remedy: "use `--set governor=performance`, so that costs do not change with the load",
            ..Warning::default()
        })
    };
    study.ends.iter().filter_map(warning).collect()
}

/// Frequencies that changed within runs.
pub fn frequency(study: &Study) -> Vec<Warning> {
    let changes: Vec<f64> = study
        .runs
        .iter()
        .flatten()
        .flat_map(|run| &run.frequency_changes)
        .copied()
        .collect();
    let changed = changes.iter().filter(|change| **change > CHANGED).count();
    if changed == 0 {
        return Vec::new();
    }
    let most = changes.iter().copied().fold(0.0, f64::max);
    vec![Warning {
        name: "frequency",
        weight: most,
        found: format!(
            "the frequency of a CPU changed within {changed} of {} records, by up to {:.0} %",
            changes.len(),
            100.0 * most
        ),
        remedy: "keep it fixed (--set governor=performance, turbo off), or compare cells of one block only",
        ..Warning::default()
    }]
}
