//! Words from others' files and hosts, as a terminal may have them.

/// The text with U+FFFD for control characters; line ends, tabs and colours (`ESC [ digits m`, ECMA-48, 8.3.117) stay.
pub fn harmless(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_colours_reaches_a_terminal() {
        let text = "a\tb\n\u{1b}[1;31mred\u{1b}[0m";
        assert_eq!(harmless(text), text);
        assert_eq!(harmless("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}"), "\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}");
    }
}
