//! Lines on standard error.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bitcost_model::harmless_page;
use console::Term;

use crate::layout::folded_line;

/// Lines that wait while a panel has the terminal; absent where they are written at once.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

pub fn held() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Writes a line to standard error. On a terminal, nothing in it can control the terminal, and
/// sentences are folded at the terminal's width.
///
/// A line that cannot be written (a closed pipe, a full disk under a log) is lost: the execution
/// matters more than the messages about it.
pub fn say(line: &str) {
    let columns = Term::stderr().size_checked().map(|(_, columns)| columns);
    write(line, columns);
}

/// Writes a line with a path or a command, which is copied whole: it is not folded.
pub fn say_whole(line: &str) {
    write(line, None);
}

fn write(line: &str, columns: Option<u16>) {
    // A panel does not begin before it is written.
    let mut held = held();
    if let Some(lines) = &mut *held {
        return lines.push(line.to_owned());
    }
    let mut errors = std::io::stderr().lock();
    let text = match (errors.is_terminal(), columns) {
        (false, _) => line.to_owned(),
        (true, None) => harmless_page(line),
        (true, Some(columns)) => folded(&harmless_page(line), columns.into()),
    };
    let _ = errors.write_all(format!("{text}\n").as_bytes());
}

/// The text with its long lines broken between words. Further lines are indented to the words after
/// a mark such as `note: `.
fn folded(text: &str, columns: usize) -> String {
    let lines = text.lines().map(|line| folded_line(line, columns, 0));
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_folded_to_their_mark() {
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
        assert_eq!(folded("\nshort", 40), "\nshort");
    }
}
