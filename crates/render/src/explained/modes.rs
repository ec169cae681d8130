//! Runs of one cell in two modes.

use bitcost_analysis::explain::{Covariate, Modality};
use bitcost_analysis::statistics::SeparatedRanges;
use bitcost_model::units::plain;
use serde_json::{Value, json};

/// The modes, and what distinguishes their runs, a line each.
pub(super) fn modes_text(modality: &Modality) -> String {
    let (modes, metric) = (&modality.modes, modality.metric);
    let mode = |mean: f64, runs: &[u64]| {
        let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
        format!("{} in runs {}", plain(mean), runs.join(", "))
    };
    let low = mode(modes.low_mean, &modality.low_runs);
    let high = mode(modes.high_mean, &modality.high_runs);
    let mut text = format!("  modes: {metric} has two: {low}; {high}\n");
    let covariates = modality.covariates.iter().map(covariate);
    text.extend(covariates.map(|words| format!("         separated by {words}\n")));
    if modality.covariates.is_empty() {
        text += "         nothing that was measured distinguishes them\n";
    }
    text
}

fn covariate(covariate: &Covariate) -> String {
    let SeparatedRanges { low, high } = covariate.apart;
    let range = |(least, most): (f64, f64)| match least == most {
        true => plain(least),
        false => format!("{} to {}", plain(least), plain(most)),
    };
    let equal = if covariate.is_full_in_one() {
        " = 100"
    } else {
        ""
    };
    let (name, low, high) = (covariate.name, range(low), range(high));
    format!("{name}{equal}: {low} in the lower mode, {high} in the higher")
}

/// Two modes of a cell.
pub(super) fn modes_json(modality: &Modality) -> Value {
    let covariate = |covariate: &Covariate| {
        let SeparatedRanges { low, high } = covariate.apart;
        json!({
            "name": covariate.name, "low": [low.0, low.1], "high": [high.0, high.1], "full_in_one_mode": covariate.is_full_in_one(),
        })
    };
    let modes = &modality.modes;
    json!({
        "metric": modality.metric,
        "low": { "mean": modes.low_mean, "runs": modality.low_runs },
        "high": { "mean": modes.high_mean, "runs": modality.high_runs },
        "separation": modes.separation,
        "chance": modes.chance,
        "covariates": modality.covariates.iter().map(covariate).collect::<Vec<_>>(),
    })
}
