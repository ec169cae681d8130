//! Lines on standard error.

use std::io::{IsTerminal, Write};

use bitcost_model::harmless_page;
use console::Term;

use crate::layout::folded_line;

/// Marks of lines with a path or a command, which are copied whole and are not folded.
const WHOLE: [&str; 5] = ["log: ", "again: ", "resume: ", "next: ", "why: "];

/// Writes a line to standard error. On a terminal, nothing in it can control the terminal, and
/// sentences are folded at the terminal's width.
///
/// A line that cannot be written (a closed pipe, a full disk under a log) is lost: the execution
/// matters more than the messages about it.
pub fn say(line: &str) {
    let mut errors = std::io::stderr().lock();
    let text = match (errors.is_terminal(), Term::stderr().size_checked()) {
        (false, _) => line.to_owned(),
        (true, None) => harmless_page(line),
        (true, Some((_, columns))) => folded(&harmless_page(line), columns.into()),
    };
    let _ = errors.write_all(format!("{text}\n").as_bytes());
}

/// The text with its long lines broken between words. Further lines are indented to the words after
/// a mark such as `note: `.
fn folded(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| fold_line(line, columns));
    lines.collect::<Vec<_>>().join("\n")
}

fn fold_line(line: &str, columns: usize) -> String {
    match WHOLE.iter().any(|mark| line.starts_with(mark)) {
        true => line.to_owned(),
        false => folded_line(line, columns, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_folded_to_their_mark_and_commands_stay_whole() {
        assert_eq!(
            folded("note: one two three four", 16),
            "note: one two\n      three four"
        );
        assert_eq!(
            folded("a line\n  indented words here", 14),
            "a line\n  indented\n  words here"
        );
        assert_eq!(
            folded("One sentence: with a colon", 16),
            "One sentence:\nwith a colon"
        );
        let command = "again: bitcost show bitcost-runs/2026-11-21T10-00-00-mine";
        assert_eq!(folded(command, 40), command);
        assert_eq!(folded("\nshort", 40), "\nshort");
    }
}
