//! The layout of text for a terminal: headings, and words broken at a width.

use bitcost_model::harmless_page;

/// The options of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextOptions {
    /// Bold headings by ANSI escapes.
    pub colour: bool,
    /// Widest line in columns, where words allow.
    pub width: u16,
}

impl Default for TextOptions {
    fn default() -> Self {
        TextOptions {
            colour: false,
            width: 100,
        }
    }
}

/// A heading, bold if colours are on, broken at the width.
pub(crate) fn heading(words: &str, options: TextOptions) -> String {
    let text = paragraph("", words, usize::from(options.width));
    let bold = |line: &str| {
        if options.colour {
            format!("\u{1b}[1m{line}\u{1b}[0m\n")
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(bold).collect()
}

/// Words after a mark, broken at the width; further lines are indented to the words.
pub(crate) fn paragraph(mark: &str, words: &str, width: usize) -> String {
    let indent = mark.chars().count();
    let (mut text, mut line, mut used) = (String::new(), mark.to_owned(), indent);
    for word in harmless_page(words).split_whitespace() {
        let length = word.chars().count();
        if used > indent && used + 1 + length > width {
            text += &format!("{}\n", line.trim_end());
            line = " ".repeat(indent);
            used = indent;
        }
        if used > indent {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
    }
    text + &format!("{}\n", line.trim_end())
}
