//! netperf's outputs: human-readable tables, comma-separated values, and `SELECTOR=value`.

pub(crate) mod csv;
pub(crate) mod human;
mod interim;
pub(crate) mod keyval;
mod notes;
mod stacked;

/// True for a short text that is nearly all numbers: `-P 0` omits their names.
pub(crate) fn is_bare(text: &str) -> bool {
    let words: Vec<&str> = text
        .split(|letter: char| letter.is_whitespace() || letter == ',')
        .collect();
    let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&&str| word.parse::<f64>().is_ok();
    text.len() < 4096 && words.first().is_some_and(|word| is_number(&word)) && {
        words.iter().filter(is_number).count() * 10 >= words.len() * 8
    }
}
