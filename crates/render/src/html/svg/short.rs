//! Words that are shortened to the room that a chart has for them.

/// Words of at most `most` characters in one line; longer words end in `…`.
pub(super) fn short(words: &str, most: usize) -> String {
    let words = words.replace(char::is_control, " ");
    if words.chars().count() <= most {
        return words;
    }
    words
        .chars()
        .take(most.saturating_sub(1))
        .chain(['…'])
        .collect()
}
