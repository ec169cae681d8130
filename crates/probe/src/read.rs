//! Reading small files of `/proc` and `/sys`: once, or repeatedly through a file that stays open.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// The text of a file without white space around it; absent if it cannot be read or is empty.
pub(crate) fn text(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The present text of a file that stays open; absent if it cannot be read.
pub(crate) fn whole<'a>(file: &File, buffer: &'a mut Vec<u8>) -> Option<&'a str> {
    let length = from_begin(file, buffer, |_| false)?;
    std::str::from_utf8(&buffer[..length]).ok()
}

/// Reads from the start of the file into `buffer` until `enough` is satisfied or the file ends;
/// returns the length read.
///
/// The buffer grows as needed and can be reused, so that later readings allocate nothing.
pub(crate) fn from_begin(
    file: &File,
    buffer: &mut Vec<u8>,
    enough: impl Fn(&[u8]) -> bool,
) -> Option<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            buffer.resize(buffer.len().max(2048) * 2, 0);
        }
        match file.read_at(&mut buffer[length..], length as u64).ok()? {
            0 => return Some(length),
            count => length += count,
        }
        if enough(&buffer[..length]) {
            return Some(length);
        }
    }
}
