//! netperf's outputs: columns for people, comma-separated values, and `SELECTOR=value`.

pub(crate) mod csv;
pub(crate) mod human;
mod interim;
pub(crate) mod keyval;
mod stacked;

use crate::Found;

/// Whose CPU figures they are.
const OWN_METHOD: &str = "CPU use and service demand are netperf's: 1 − idle ÷ the sum of all ticks, of the whole host";

/// Said of a run that has CPU figures.
fn note(found: &mut Found) {
    if found.run.figures.keys().any(|name| name.contains("cpu") || name.contains("service_demand")) {
        found.run.notes.push(OWN_METHOD.to_owned());
    }
}

/// What netperf says of a test whose results spread by more than was asked for; of such a line nothing else.
fn confidence(line: &str) -> Option<String> {
    let (what, share) = line.trim().strip_prefix("!!!")?.rsplit_once(':')?;
    let what = what.trim().strip_prefix("Confidence intervals: ").unwrap_or(what).trim();
    share.trim().ends_with('%').then(|| format!("{what} {}", share.trim()))
}

/// The note of lines in which netperf warns of it.
fn confidence_note<'a>(lines: impl Iterator<Item = &'a str>) -> Option<String> {
    let widths: Vec<String> = lines.filter_map(confidence).collect();
    let note = || format!("netperf did not achieve the confidence that was asked for: widths {}", widths.join(", "));
    (!widths.is_empty()).then(note)
}

/// True of a short text that is nearly all numbers: `-P 0` leaves out what they are.
pub(crate) fn is_bare(text: &str) -> bool {
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || letter == ',').collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&&str| word.parse::<f64>().is_ok();
    text.len() < 4096 && words.first().is_some_and(|word| is_number(&word)) && {
        words.iter().filter(is_number).count() * 10 >= words.len() * 8
    }
}
