//! Reading small files of `/proc` and `/sys`: once, or repeatedly through a file that stays open.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::str::SplitAsciiWhitespace;

/// The text of a file without white space around it; absent if it cannot be read or is empty.
pub(crate) fn text(path: &str) -> Option<String> {
    // The kernel cuts the name of a process in the middle of a letter.
    let text = std::fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&text);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The names in a folder that are numbers: processes, threads, or interrupts.
pub(crate) fn numbers(folder: impl AsRef<Path>) -> BTreeSet<u32> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let number =
        |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
    entries.filter_map(number).collect()
}

/// The words after a name at the start of a line.
pub(crate) fn words<'a>(text: &'a str, name: &str) -> Option<SplitAsciiWhitespace<'a>> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_ascii_whitespace())
}

/// The number after a name at the start of a line.
pub(crate) fn number(text: &str, name: &str) -> Option<u64> {
    words(text, name)?.next()?.parse().ok()
}

/// The number of a process or thread in its innermost PID namespace, by its `status` (proc_pid_status(5), NSpid).
pub(crate) fn innermost_id(status: &str) -> Option<u32> {
    words(&text(status)?, "NSpid:")?.last()?.parse().ok()
}

/// A file that stays open; its readings after the first allocate nothing.
#[derive(Debug)]
pub(crate) struct Kept {
    file: File,
    buffer: Vec<u8>,
}

impl Kept {
    pub fn open(path: impl AsRef<Path>) -> Option<Kept> {
        File::open(path).ok().map(Kept::of)
    }

    pub fn of(file: File) -> Kept {
        let buffer = vec![0; 1 << 12];
        Kept { file, buffer }
    }

    /// Its present text; absent if it cannot be read.
    pub fn text(&mut self) -> Option<&str> {
        self.text_until(|_| false)
    }

    /// As [`Kept::text`], of a file that one call reads to its end.
    pub fn lines(&mut self) -> Option<&str> {
        self.text_until(|text| text.ends_with(b"\n"))
    }

    /// As [`Kept::text`], read no further than `is_enough`.
    pub fn text_until(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> Option<&str> {
        let mut length = 0;
        loop {
            if length == self.buffer.len() {
                self.buffer.resize(length * 2, 0);
            }
            let rest = &mut self.buffer[length..];
            let count = self.file.read_at(rest, length as u64).ok()?;
            length += count;
            if count == 0 || is_enough(&self.buffer[..length]) {
                let text = &mut self.buffer[..length];
                // As in the text that is read once.
                while let Err(error) = std::str::from_utf8(text) {
                    text[error.valid_up_to()] = b'?';
                }
                return std::str::from_utf8(text).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_the_kernel_cuts_in_a_letter_is_read() {
        let thread = std::thread::spawn(|| {
            std::fs::write("/proc/thread-self/comm", "ф".repeat(8)).expect("a name");
            let path = "/proc/thread-self/stat";
            let kept = Kept::open(path).and_then(|mut kept| kept.text().map(str::to_owned));
            [text(path), kept].map(|stat| stat.is_some_and(|stat| stat.contains("(ффффффф")))
        });
        assert_eq!(thread.join().expect("it ends"), [true; 2]);
    }
}
