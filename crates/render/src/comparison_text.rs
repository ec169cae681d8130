//! A comparison as text: a table of all changes, the worst first, what else differs, and the answer in a
//! sentence.

use bitcost_analysis::compare::Comparison;

use crate::comparison::{
    comparison_lines, comparison_method, comparison_remarks, comparison_tally,
    comparison_unmatched, refusals,
};
use crate::comparison_headline::comparison_headline;
use crate::layout::paragraph;

/// The comparison for people, at most `width` columns wide where a width is given.
pub fn comparison_text(comparison: &Comparison, width: Option<u16>) -> String {
    let columns = width.map_or(usize::MAX, usize::from);
    let line = |mark: &str, words: &str| paragraph(mark, &one_line(words), columns);
    // Sentences with their mark, and an empty line where there are any.
    let block = |mark: &str, sentences: Vec<String>| {
        let lines: String = sentences.iter().map(|words| line(mark, words)).collect();
        match lines.is_empty() {
            true => lines,
            false => lines + "\n",
        }
    };
    let (old, new) = &comparison.names;
    let mut text = line("", &format!("{old} → {new}")) + "\n";
    text += &block("", refusals(comparison));
    let lines = comparison_lines(comparison);
    if !lines.rows.is_empty() {
        text += &format!("{}\n", lines.text(width.unwrap_or(u16::MAX)));
    }
    let mut remarks = comparison_remarks(comparison);
    remarks.extend(comparison_unmatched(comparison));
    text += &block("- ", remarks);
    text + &line("", &comparison_method(comparison))
        + "\n"
        + &line("", &comparison_headline(comparison))
        + &line("", &comparison_tally(comparison))
}

/// Words from other people's logs on one line.
fn one_line(words: &str) -> String {
    words.replace(char::is_control, "\u{fffd}")
}
