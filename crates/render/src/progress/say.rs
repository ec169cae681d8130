//! Lines on standard error.

use std::io::{IsTerminal, Write};

use bitcost_model::harmless_page;

/// Writes a line to standard error. On a terminal, nothing in it can control the terminal.
///
/// A line that cannot be written (a closed pipe, a full disk under a log) is lost: the execution
/// matters more than the messages about it.
pub fn say(line: &str) {
    let mut errors = std::io::stderr().lock();
    let text = if errors.is_terminal() {
        harmless_page(line)
    } else {
        line.to_owned()
    };
    let _ = errors.write_all(format!("{text}\n").as_bytes());
}
