//! Standard output, whose reader may leave early, as `head` does; and standard error.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use model::{harmless_coloured, harmless_page};

pub use live::say;

use crate::failure::Failure;

/// Prints a text. On a terminal nothing in it can steer, colour or reorder what is shown: labels and names may come from others'
/// files.
///
/// # Errors
/// [`Failure::OutputClosed`] when nobody reads any more; environment, when it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() { bytes(harmless_page(text).as_bytes()) } else { bytes(text.as_bytes()) }
}

/// Writes bytes as they are.
fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output.write_all(bytes).and_then(|()| output.flush()).map_err(|error| unwritten(&error))
}

/// What it means that standard output cannot be written.
pub fn unwritten(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Environment(format!("cannot write to standard output: {error}")),
    }
}

/// Prints a result in whatever form: a text as [`print()`] does, though with the colours of reports, other bytes as they are.
///
/// # Errors
/// As [`print()`].
pub fn form(result: &[u8]) -> Result<(), Failure> {
    match std::str::from_utf8(result) {
        Ok(text) if std::io::stdout().is_terminal() => bytes(harmless_coloured(text).as_bytes()),
        _ => bytes(result),
    }
}

/// Prints a line.
///
/// # Errors
/// As [`print()`].
pub fn line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

/// A path as a shell takes it for one word.
pub fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_spaces_is_one_word() {
        let word = |path| shell_word(Path::new(path));
        assert_eq!(word("bitcost-runs/2026-11-21T10-00-00-mine"), "bitcost-runs/2026-11-21T10-00-00-mine");
        assert_eq!(word("my runs/it's"), "'my runs/it'\\''s'");
        assert_eq!(word("$(x)"), "'$(x)'");
    }
}
