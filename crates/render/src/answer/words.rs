//! Levels and titles within a sentence.

use bitcost_analysis::metrics::Metric;
use bitcost_analysis::summary::Summary;
use bitcost_model::imported::NOT_SAID;
use bitcost_model::study::Label;

/// Whether cells differ in this factor.
pub(super) fn varied(summary: &Summary, factor: &str) -> bool {
    let mut levels = summary
        .cells
        .iter()
        .map(|cell| cell.levels.iter().find(|(name, _)| name == factor));
    let first = levels.next();
    levels.any(|level| Some(level) != first)
}

/// `message_size_bytes = 1024, transport = UDP`, without levels that a file does not give;
/// `no brand` if it gives none.
pub(super) fn named_levels(levels: &[(String, Label)]) -> String {
    let is_said = |(_, label): &&(String, Label)| *label != Label::Text(NOT_SAID.to_owned());
    let said: Vec<String> = levels
        .iter()
        .filter(is_said)
        .map(|(factor, label)| format!("{factor} = {label}"))
        .collect();
    if !said.is_empty() {
        return said.join(", ");
    }
    levels
        .iter()
        .map(|(factor, _)| format!("no {factor}"))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A title within a sentence: `throughput`, but `CPU time` unchanged.
pub(crate) fn lowered(title: &str) -> String {
    let mut letters = title.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => title.to_owned(),
    }
}

/// Whether a title is in the plural: `Retransmitted segments`, `Receive calls`.
pub(super) fn is_plural(metric: &Metric) -> bool {
    metric
        .title
        .split(' ')
        .take(2)
        .any(|word| word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("'s"))
}

#[cfg(test)]
mod tests {
    use bitcost_analysis::metrics::metric;

    use super::{is_plural, lowered};

    #[test]
    fn a_title_takes_its_place_in_a_sentence() {
        assert_eq!(
            ["Throughput", "CPU time", "X"].map(lowered),
            ["throughput", "CPU time", "X"]
        );
        let plural = |name| is_plural(metric(name).expect("a metric"));
        assert!(
            [
                "retransmits",
                "messages_per_second",
                "receive_calls_per_second"
            ]
            .into_iter()
            .all(plural)
        );
        assert!(
            ![
                "throughput_mbps",
                "send_service_demand_us_per_kib",
                "rtt_us"
            ]
            .into_iter()
            .any(plural)
        );
    }
}
