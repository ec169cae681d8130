//! The noise of an execution, as a sentence and as JSON.

use bitcost_analysis::metrics::metric;
use bitcost_analysis::summary::{Detectable, Noise, WANTED_PCT};
use serde_json::{Value, json};

use crate::number;

/// One sentence: how much the machine's speed varied, and what cannot be detected for it.
pub(crate) fn noise_text(noise: &Noise) -> String {
    let speed = format!(
        "the machine's speed varied by a factor of {:.2} between runs of a cell",
        noise.speed_varied
    );
    match &noise.detectable {
        Some(found) => format!("{speed}; {}", detectable_text(found)),
        None => speed,
    }
}

fn detectable_text(found: &Detectable) -> String {
    let text = undetected_text(found);
    match found.blocks_wanted {
        _ if found.difference_pct <= WANTED_PCT => text,
        Some(blocks) => format!("{text}, {WANTED_PCT} % would take {blocks} blocks"),
        None => format!("{text}, {WANTED_PCT} % would take over 1000 blocks"),
    }
}

/// `5 blocks cannot detect differences of throughput under 23.1 %`. From a factor of two on there is
/// nothing to detect.
pub(crate) fn undetected_text(found: &Detectable) -> String {
    let title = metric(&found.metric).map_or_else(
        || found.metric.clone(),
        |metric| metric.title.to_lowercase(),
    );
    if found.difference_pct >= 100.0 {
        return format!(
            "{title} varied too much between runs for {} blocks to detect a difference",
            found.blocks
        );
    }
    format!(
        "{} blocks cannot detect differences of {title} under {} %",
        found.blocks,
        number::plain(found.difference_pct)
    )
}

pub(crate) fn noise_json(noise: &Noise) -> Value {
    let found = noise.detectable.as_ref();
    json!({
        "speed_varied": noise.speed_varied,
        "metric": found.map(|found| &found.metric),
        "blocks": found.map(|found| found.blocks),
        "detectable_pct": found.map(|found| found.difference_pct),
        "wanted_pct": found.map(|_| WANTED_PCT),
        "blocks_wanted": found.and_then(|found| found.blocks_wanted),
    })
}
