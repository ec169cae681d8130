//! Standard output, whose reader may leave early, as `head` does.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use crate::failure::Failure;

/// Prints a text. On a terminal nothing in it can steer the terminal but colours: labels and names may come from others' files.
///
/// # Errors
/// [`Failure::OutputClosed`] when nobody reads any more; environment, when it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { bytes(harmless(text).as_bytes()) } else { bytes(text.as_bytes()) }
}

/// The text with U+FFFD for control characters; line ends, tabs and colours (`ESC [ digits m`, ECMA-48, 8.3.117) stay.
fn harmless(text: &str) -> String {
    let is_colour = |rest: &str| {
        let digits =
            rest.strip_prefix('[').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';'));
        digits.is_some_and(|rest| rest.starts_with('m'))
    };
    let kept = |(at, letter): (usize, char)| match letter {
        '\n' | '\t' => letter,
        '\u{1b}' if is_colour(&text[at + 1..]) => letter,
        _ if letter.is_control() => '\u{fffd}',
        _ => letter,
    };
    text.char_indices().map(kept).collect()
}

/// Writes bytes as they are.
///
/// # Errors
/// As [`print()`].
pub fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output.write_all(bytes).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Environment(format!("cannot write to standard output: {error}")),
    })
}

/// Prints a line.
///
/// # Errors
/// As [`print()`].
pub fn line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

/// A path as a shell takes it for one word.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_colours_reaches_a_terminal() {
        let text = "a\tb\n\u{1b}[1;31mred\u{1b}[0m";
        assert_eq!(harmless(text), text);
        assert_eq!(harmless("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}"), "\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}");
    }

    #[test]
    fn a_folder_with_spaces_is_one_word() {
        let word = |path| shell_word(Path::new(path));
        assert_eq!(word("bitcost-runs/2026-11-21T10-00-00-mine"), "bitcost-runs/2026-11-21T10-00-00-mine");
        assert_eq!(word("my runs/it's"), "'my runs/it'\\''s'");
        assert_eq!(word("$(x)"), "'$(x)'");
    }
}
