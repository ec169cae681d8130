//! Near matches: known names that resemble an unknown one.

/// The likeness of two words with one letter that is missing, added, changed or swapped.
const ONE_SLIP: f64 = 0.8;

/// The candidates that resemble `word`, best first, at most three.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = word.to_lowercase();
    let mut scored: Vec<(f64, &str)> = candidates
        .into_iter()
        .map(|candidate| (likeness(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(3)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// How much a word resembles another one, from 0 to 1. Of words of two letters or more, one slip
/// is much alike, which Jaro-Winkler does not see in short words (`tpc` and `tcp`), and so is a part
/// of a name (`scatter` and `tx-scatter-gather`).
fn likeness(word: &str, candidate: &str) -> f64 {
    let is_alike = || candidate.contains(word) || strsim::osa_distance(word, candidate) == 1;
    let least = if word.chars().count() >= 2 && is_alike() {
        ONE_SLIP
    } else {
        0.0
    };
    strsim::jaro_winkler(word, candidate).max(least)
}

/// The sentence to append to an error: `; did you mean "mtu_bytes"?`, or nothing.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let matches = near(word, candidates);
    if matches.is_empty() {
        return String::new();
    }
    let quoted: Vec<String> = matches.iter().map(|m| format!("`{m}`")).collect();
    format!("; did you mean {}?", quoted.join(" or "))
}

/// The most names that an error lists where some resemble the unknown one.
const LISTED: usize = 16;

/// What to append to an error about an unknown name: the names that resemble it, and all that are
/// known unless they are many and some resemble it.
pub fn near_or_all(word: &str, known: &[&str]) -> String {
    let hint = did_you_mean(word, known.iter().copied());
    if known.len() > LISTED && !hint.is_empty() {
        return hint;
    }
    format!("{hint}; allowed: {}", known.join(", "))
}
