//! Runs of one cell in two modes.

use bitcost_analysis::explain::{Covariate, Modality};
use bitcost_analysis::statistics::{SeparatedRanges, TwoModes};

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
            "modes: {} has two: {} in {} runs and {} in {}; a mean of all describes neither (distance {separation:.0} standard deviations)",
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
                    .map(|other| format!("       also apart: {}", covariate(other))),
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
