//! Text from foreign files and hosts, made safe to display.
//!
//! | letters | shown as |
//! |---|---|
//! | control characters (Unicode Cc), line and paragraph separators | U+FFFD; not tabs, line ends |
//! | letters that reorder text (UAX #9: embeddings, overrides, isolates, marks) | nothing |
//! | zero-width letters that hide text, except U+200C and U+200D, which scripts need | nothing |
//! | all others | themselves |

/// The most bytes of one foreign text.
const MOST: usize = 4 << 10;

/// The text in place of the rest of a text that is longer.
const CUT: &str = "…";

/// One foreign text, such as a reason, a label, or a host's name, made safe: nothing in it controls
/// a terminal, reorders or hides the text next to it, or colours it. A text that is longer than 4
/// KiB is cut and ends in an ellipsis.
pub fn harmless(text: &str) -> String {
    if text.len() <= MOST {
        return harmless_page(text);
    }
    let end = (0..=MOST - CUT.len())
        .rev()
        .find(|end| text.is_char_boundary(*end))
        .unwrap_or(0);
    harmless_page(&text[..end]) + CUT
}

/// A whole output that contains foreign texts, treated like [`harmless`] without a limit on its
/// length.
pub fn harmless_page(text: &str) -> String {
    text.chars().filter_map(shown).collect()
}

/// A letter as it may be displayed; `None` where it is left out.
pub fn shown(letter: char) -> Option<char> {
    match letter {
        '\n' | '\t' => Some(letter),
        '\u{2028}' | '\u{2029}' => Some('\u{fffd}'),
        _ if letter.is_control() => Some('\u{fffd}'),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            None
        }
        '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' => {
            None
        }
        '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => None,
        _ => Some(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_others_steers_or_colours_a_terminal() {
        assert_eq!(harmless("a\tb\nc"), "a\tb\nc");
        assert_eq!(
            harmless("\u{1b}]0;title\u{7}\u{1b}[2J\u{1b}"),
            "\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}"
        );
        assert_eq!(
            harmless("\u{1b}[31mred\u{1b}[0m"),
            "\u{fffd}[31mred\u{fffd}[0m"
        );
        assert_eq!(harmless("\u{9b}31m\u{2028}"), "\u{fffd}31m\u{fffd}");
    }

    #[test]
    fn what_reorders_or_hides_is_left_out_and_scripts_stay_whole() {
        for letter in
            "\u{202a}\u{202e}\u{2066}\u{2069}\u{200e}\u{200f}\u{61c}\u{200b}\u{2060}\u{feff}\u{ad}\u{e0041}".chars()
        {
            assert_eq!(harmless(&format!("a{letter}b")), "ab", "U+{:04X}", u32::from(letter));
        }
        for text in [
            "نمی\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}💻",
            "שלום",
            "10 µs · 1 ‰",
        ] {
            assert_eq!(harmless(text), text);
        }
    }

    #[test]
    fn a_long_text_is_cut_at_a_whole_letter() {
        assert_eq!(harmless(&"x".repeat(MOST)).len(), MOST);
        for letter in ["x", "µ", "€", "👩"] {
            let cut = harmless(&letter.repeat(MOST));
            assert!(
                cut.len() <= MOST && cut.len() > MOST - 8,
                "{letter}: {}",
                cut.len()
            );
            if letter != "x" {
                assert!(cut.ends_with("…") && cut.starts_with(letter), "{letter}");
            }
        }
        assert_eq!(harmless_page(&"x".repeat(2 * MOST)).len(), 2 * MOST);
    }
}
