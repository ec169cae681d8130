//! Studies and lab files as the user names them: bounded, regular files of UTF-8 text.

use std::io::{self, Read};
use std::path::Path;

use bitcost_study::limits::STUDY_BYTES;
use bitcost_sys::files::open_regular_target;

/// The text of a study or a lab file.
pub fn text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let read = open_regular_target(path)?
        .take(STUDY_BYTES as u64 + 1)
        .read_to_string(&mut text)?;
    if read > STUDY_BYTES {
        return Err(io::Error::other(format!(
            "it is larger than {} MiB",
            STUDY_BYTES >> 20
        )));
    }
    Ok(text)
}
