//! Standard output, whose reader may leave early, as `head` does.

use std::io::{ErrorKind, Write};

use crate::failure::Failure;

/// Prints a text as it is.
///
/// # Errors
/// [`Failure::OutputClosed`] when nobody reads any more; environment, when it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output.write_all(text.as_bytes()).and_then(|()| output.flush()).map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Environment(format!("cannot write to standard output: {error}")),
    })
}

/// Prints a line.
///
/// # Errors
/// As [`print`].
pub fn line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}
