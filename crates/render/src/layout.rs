//! The layout of text for a terminal: words broken at a width.

use bitcost_model::harmless_page;

/// Columns of text where the output is no terminal: longer lines are hard to read.
pub const USUAL: u16 = 100;

/// Columns of a terminal that nobody has widened.
pub const NARROW: u16 = 80;

/// Columns of the labels at the left of an answer.
pub(crate) const LABEL: usize = 13;

/// Longest mark of a line to which its further lines are indented.
const LONGEST_MARK: usize = 12;

/// A line broken between words at the width, but at most at 100 columns. Further lines are indented
/// to the words after a mark such as `note: `, and at least by `hanging`.
pub(crate) fn folded_line(line: &str, width: usize, hanging: usize) -> String {
    let width = width.min(USUAL.into());
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let (mark, words) = line.split_at(mark_length(line));
    let indent = mark.chars().count().max(hanging);
    broken(mark, words, indent, width).trim_end().to_owned()
}

/// A text whose long lines are broken between words at the width, with this indent of further
/// lines. Escapes that could control a terminal are replaced.
pub fn folded_text(text: &str, width: u16, hanging: usize) -> String {
    let fold = |line| folded_line(line, width.into(), hanging) + "\n";
    text.lines().map(fold).collect()
}

/// The bytes of a line's mark: blanks at its start, and a word before a colon.
fn mark_length(line: &str) -> usize {
    let blanks = line.len() - line.trim_start().len();
    let word = line[blanks..].find(": ").map(|end| end + 2);
    let is_mark = |length: &usize| {
        let mut inside = line[blanks..].chars().take(*length - 2);
        *length <= LONGEST_MARK && inside.all(|c| c.is_ascii_lowercase() || c == '-')
    };
    blanks + word.filter(is_mark).unwrap_or(0)
}

/// Words after a mark, broken at the width; further lines are indented to the words.
pub(crate) fn paragraph(mark: &str, words: &str, width: usize) -> String {
    broken(mark, words, mark.chars().count(), width)
}

/// Words after a mark, broken at the width; further lines have this indent. No line begins
/// with a per cent sign, or ends at a no-break space, which is printed as a plain one.
fn broken(mark: &str, words: &str, indent: usize, width: usize) -> String {
    let (mut text, mut line) = (String::new(), mark.to_owned());
    let mut used = mark.chars().count();
    let mut is_empty = true;
    let words = harmless_page(words).replace(" %", "\u{a0}%");
    for word in words.split_ascii_whitespace() {
        let length = word.chars().count();
        if !is_empty && used + 1 + length > width {
            text += &format!("{}\n", line.trim_end());
            line = " ".repeat(indent);
            used = indent;
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        is_empty = false;
    }
    text += &format!("{}\n", line.trim_end());
    text.replace('\u{a0}', " ")
}
