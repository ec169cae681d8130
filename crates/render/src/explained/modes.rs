//! Runs of one cell in two modes.

use bitcost_analysis::explain::{Covariate, Modality};
use bitcost_analysis::statistics::{SeparatedRanges, TwoModes};
use serde_json::{Value, json};

/// The modes, several lines.
pub(super) fn modes_text(modality: &Modality) -> String {
    let TwoModes {
        low,
        high,
        low_mean,
        high_mean,
        separation,
        ..
    } = &modality.modes;
    let mut lines = vec![
        format!(
            "modes: {} has two: {} in {} runs and {} in {}; a mean over all runs describes neither (distance {separation:.0} standard deviations)",
            modality.metric,
            number(*low_mean),
            low.len(),
            number(*high_mean),
            high.len()
        ),
        format!(
            "       runs {} and {}",
            list(&modality.low_runs),
            list(&modality.high_runs)
        ),
    ];
    match modality.covariates.split_first() {
        None => lines.push("       nothing that was measured distinguishes them".to_owned()),
        Some((first, rest)) => {
            lines.push(format!("       separated by {}", covariate(first)));
            lines.extend(
                rest.iter()
                    .map(|other| format!("       also different: {}", covariate(other))),
            );
        }
    }
    lines.iter().map(|line| format!("  {line}\n")).collect()
}

fn covariate(covariate: &Covariate) -> String {
    let SeparatedRanges { low, high } = covariate.apart;
    let range = |(least, most): (f64, f64)| {
        if least == most {
            number(least)
        } else {
            format!("{} to {}", number(least), number(most))
        }
    };
    let equal = if covariate.is_full_in_one() {
        " = 100"
    } else {
        ""
    };
    format!(
        "{}{equal}: {} in the lower mode, {} in the higher",
        covariate.name,
        range(low),
        range(high)
    )
}

fn list(runs: &[u64]) -> String {
    let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
    runs.join(", ")
}

fn number(value: f64) -> String {
    if value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
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
