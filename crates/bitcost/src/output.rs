//! Standard output, whose reader may leave early, as `head` does; standard error; files that the user names.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::Path;

use bitcost_model::{harmless_page, shell};

use bitcost_render::block::{Block, text};
use bitcost_render::layout::{USUAL, folded_text};
pub use bitcost_render::progress::{say, say_whole};
use bitcost_sys::files::replace;

use crate::failure::Failure;

/// Fewest columns of a table: a narrower one has no room for a number.
const LEAST_COLUMNS: u16 = 40;

/// The width of the terminal that standard output is; absent if it is none.
pub fn columns() -> Option<u16> {
    let terminal = console::Term::stdout().size_checked();
    terminal.map(|(_, columns)| columns.max(LEAST_COLUMNS))
}

/// Writes a file with this content, completely or not at all; a link is not followed.
pub fn file(path: &Path, content: &[u8], option: &str) -> Result<(), Failure> {
    replace(path, content, 0o666).map_err(|error| {
        Failure::Environment(format!(
            "cannot write {}: {error}; choose another place with {option}",
            path.display()
        ))
    })
}

/// Prints a text. On a terminal, nothing in the text can control, colour or reorder the display,
/// because labels and names may come from files of other users.
pub fn print(text: &str) -> Result<(), Failure> {
    if std::io::stdout().is_terminal() {
        bytes(harmless_page(text).as_bytes())
    } else {
        bytes(text.as_bytes())
    }
}

/// Prints a text; on a terminal, its long lines are broken between words, and their further lines
/// have this indent.
pub fn folded(text: &str, hanging: usize) -> Result<(), Failure> {
    match columns() {
        Some(width) => print(&folded_text(text, width, hanging)),
        None => print(text),
    }
}

/// Prints blocks, as wide as the terminal.
pub fn blocks(blocks: &[Block]) -> Result<(), Failure> {
    print(&text(blocks, columns().unwrap_or(USUAL)))
}

fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(bytes)
        .and_then(|()| output.flush())
        .map_err(|error| unwritten(&error))
}

/// The failure for an error of a write to standard output.
pub fn unwritten(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::OutputClosed,
        _ => Failure::Environment(format!("cannot write to standard output: {error}")),
    }
}

pub fn line(text: &str) -> Result<(), Failure> {
    print(&format!("{text}\n"))
}

pub fn command_line() -> Vec<String> {
    std::env::args_os()
        .map(|word| without_secret(&word.to_string_lossy()))
        .collect()
}

/// A word without what follows the host in a link of a service: logs and reports are for everybody.
fn without_secret(word: &str) -> String {
    let is_link = word.contains(bitcost_service::link::SCHEME);
    match word.split_once("/#").filter(|_| is_link) {
        Some((at, _)) => format!("{at}/#..."),
        None => word.to_owned(),
    }
}

/// A path, quoted so that a shell reads it as one word.
pub fn shell_word(path: &Path) -> String {
    shell::shell_word(&path.display().to_string()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_of_a_link_is_not_kept() {
        let word = without_secret("--receiver=bitcost://web:7351/#KEY.TOKEN");
        assert_eq!(word, "--receiver=bitcost://web:7351/#...");
        assert_eq!(without_secret("a/#b"), "a/#b");
    }
}
