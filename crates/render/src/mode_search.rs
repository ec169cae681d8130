//! The result of a search for the fastest pair of modes, as text and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write;

use bitcost_model::modes::Mode;
use bitcost_study::mode_search::{Candidate, ModeSearch, TRIES, WINDOW_MS};
use serde_json::{Value, json};

use crate::number;

/// Pairs that the text shows in addition to the pair of plain modes.
const SHOWN: usize = 6;

/// A small table of the fastest pairs and the pair of plain modes, with the chosen pair, and why
/// others were left out.
pub fn mode_search_text(search: &ModeSearch) -> String {
    let order = search.by_throughput();
    let honest = search
        .candidates
        .iter()
        .find(|candidate| is_honest(candidate));
    let honest_mbps = honest.and_then(Candidate::throughput_mbps);
    let mut text = format!(
        "{:<18} {:<12} {:>12} {:>9} {:>12} {:>6}\n",
        "send_mode", "receive_mode", "Mbit/s", "x plain", "CPU us/KiB", "tries"
    );
    let shown = |(place, index): (usize, &usize)| {
        let candidate = &search.candidates[*index];
        (place < SHOWN || is_honest(candidate)).then_some(candidate)
    };
    for candidate in order.iter().enumerate().filter_map(shown) {
        let mbps = candidate.throughput_mbps();
        let ratio = mbps.zip(honest_mbps).map(|(mbps, honest)| mbps / honest);
        let figure = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), number::plain);
        let _ = writeln!(
            text,
            "{:<18} {:<12} {:>12} {:>9} {:>12} {:>6}{}",
            candidate.send_mode.name(),
            candidate.receive_mode.name(),
            figure(mbps),
            figure(ratio),
            figure(candidate.cpu_us_per_kib()),
            candidate.tries.len(),
            if search.chosen() == Some(candidate) {
                "  taken"
            } else {
                ""
            },
        );
    }
    let _ = writeln!(
        text,
        "{} pairs of modes tried for {WINDOW_MS} ms, {TRIES} times each",
        search.candidates.len()
    );
    for (reason, pairs) in refusals(search) {
        let _ = writeln!(text, "left out: {}: {reason}", pairs.join(", "));
    }
    text
}

/// The same as a JSON document, with every try of every candidate.
pub fn mode_search_json(search: &ModeSearch) -> Value {
    let mut document = json!({ "window_ms": WINDOW_MS, "candidates": search.candidates });
    if let Some(chosen) = search.chosen() {
        document["taken"] =
            json!({ "send_mode": chosen.send_mode, "receive_mode": chosen.receive_mode });
    }
    document
}

fn is_honest(candidate: &Candidate) -> bool {
    (candidate.send_mode, candidate.receive_mode) == (Mode::Plain, Mode::Plain)
}

/// Each reason with the pairs that it left out.
fn refusals(search: &ModeSearch) -> BTreeMap<&str, Vec<String>> {
    let mut reasons = BTreeMap::<&str, Vec<String>>::new();
    for candidate in &search.candidates {
        if let Some(reason) = &candidate.refused {
            let pair = format!(
                "{} to {}",
                candidate.send_mode.name(),
                candidate.receive_mode.name()
            );
            reasons.entry(reason).or_default().push(pair);
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use bitcost_model::conditions::Conditions;
    use bitcost_study::mode_search::{Named, Try};

    use super::*;

    #[test]
    fn the_pair_that_is_taken_and_why_others_are_out_is_told() {
        let mut search = ModeSearch::new(&Conditions::default(), Named::default(), 1500);
        let count = search.candidates.len();
        for (index, candidate) in search.candidates.iter_mut().enumerate() {
            let demand = Some(0.5);
            candidate.tries = vec![Try {
                throughput_mbps: 1000.0 + 100.0 * index as f64,
                send_service_demand_us_per_kib: demand,
                receive_service_demand_us_per_kib: demand,
            }];
            if candidate.send_mode == Mode::IoUring {
                candidate.refused = Some("forbidden".into());
            }
        }
        let text = mode_search_text(&search);
        assert!(
            text.contains("io_uring to plain, io_uring to truncate"),
            "{text}"
        );
        assert_eq!(text.matches("forbidden").count(), 1, "{text}");
        assert!(
            text.contains(&format!("{count} pairs of modes tried")),
            "{text}"
        );
        let honest = text
            .lines()
            .find(|line| line.starts_with("plain"))
            .expect("the honest pair");
        assert!(
            honest.contains("1000") && honest.contains("1.00"),
            "{honest}"
        );
        assert_eq!(
            text.lines()
                .filter(|line| line.ends_with("  taken"))
                .count(),
            1,
            "{text}"
        );
        let document = mode_search_json(&search);
        assert_eq!(document["candidates"].as_array().map(Vec::len), Some(count));
        assert_eq!(
            document["candidates"][0]["tries"][0]["throughput_mbps"],
            1000.0
        );
        assert!(document["taken"]["send_mode"].is_string());
    }
}
