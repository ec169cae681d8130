//! Doubts about the hosts: governors and frequencies.

use model::record::{EndRecord, Sample};

use super::{Lint, Study};

/// A frequency that changes by more than this share changes costs.
const CHANGED: f64 = 0.05;

/// The governor that keeps a frequency.
const STEADY: &str = "performance";

/// A governor that changes the frequency while runs go on.
pub fn governor(study: &Study) -> Vec<Lint> {
    let lint = |end: &model::event::EndDescription| {
        let governor = end.host.governor.as_deref().filter(|governor| *governor != STEADY)?;
        Some(Lint {
            name: "governor",
            cell: String::new(),
            found: format!("the {}'s frequency governor is {governor}", end.role.name()),
            remedy: "ask for `--governor performance`, so that costs do not change with the load",
        })
    };
    study.ends.iter().filter_map(lint).collect()
}

/// The greatest change of a CPU's frequency between the first and the last sample, as a share.
pub fn change(end: &EndRecord) -> Option<f64> {
    let of = |first: &Sample, last: &Sample| {
        let pairs = first.frequencies.iter().filter_map(|before| {
            let after = last.frequencies.iter().find(|after| after.cpu == before.cpu)?;
            Some((after.khz as f64 / before.khz.max(1) as f64 - 1.0).abs())
        });
        pairs.max_by(f64::total_cmp)
    };
    of(end.samples.first()?, end.samples.last()?)
}

/// Frequencies that changed within runs.
pub fn frequency(study: &Study) -> Vec<Lint> {
    let changes: Vec<f64> = study.runs.iter().flatten().flat_map(|run| &run.frequency_changes).copied().collect();
    let changed = changes.iter().filter(|change| **change > CHANGED).count();
    if changed == 0 {
        return Vec::new();
    }
    let most = changes.iter().copied().fold(0.0, f64::max);
    vec![Lint {
        name: "frequency",
        cell: String::new(),
        found: format!(
            "the frequency of a CPU changed within {changed} of {} records, by up to {:.0} %",
            changes.len(),
            100.0 * most
        ),
        remedy: "keep it fixed (--governor performance, turbo off), or compare cells of one block only",
    }]
}
