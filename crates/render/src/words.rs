//! Words that may be absent.

/// The words between these marks; nothing where there are no words.
pub(crate) fn around(before: &str, words: &str, after: &str) -> String {
    match words.is_empty() {
        true => String::new(),
        false => format!("{before}{words}{after}"),
    }
}
