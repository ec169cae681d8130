//! Lines on standard error, for whoever reads them.

use std::io::{IsTerminal, Write};

use model::harmless_page;

/// Writes a line to standard error. On a terminal nothing in it can steer the terminal.
///
/// A line that cannot be written (a closed pipe, a full disk under a log) is lost: what goes on matters more than what
/// is said of it.
pub fn say(line: &str) {
    let mut errors = std::io::stderr().lock();
    let text = if errors.is_terminal() { harmless_page(line) } else { line.to_owned() };
    let _ = errors.write_all(format!("{text}\n").as_bytes());
}
