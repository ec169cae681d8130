//! A warning about cells whose runs had two regimes.

use super::found::{RunFacts, Study, Warning};
use crate::explain::regimes::Regimes;

/// Each cell with two regimes.
pub fn found(study: &Study) -> Vec<Warning> {
    let of = |run: &RunFacts| (run.number, run.regimes.clone());
    let regimes = |cell: usize| Regimes::of(&study.runs[cell].iter().map(of).collect::<Vec<_>>());
    let warning = |cell: usize| {
        let found = regimes(cell)?;
        let sentence = found.sentence();
        let name = study.name(cell);
        let headline = match study.cells.len() {
            1 => sentence.clone(),
            _ => format!("{name}: {sentence}"),
        };
        Some(Warning {
            name: "two_regimes",
            weight: found.left_out(),
            cells: vec![name],
            found: sentence,
            remedy: "the figures are of the runs of the regime that has more of them; compare runs of one regime, and the share of each (full_packets_pct)",
            headline: Some(headline),
        })
    };
    (0..study.cells.len()).filter_map(warning).collect()
}
