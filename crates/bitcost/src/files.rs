//! Results written to files that the user names.

use std::path::Path;

use bitcost_sys::files::replace;

use crate::failure::Failure;

/// Writes a file with this content, completely or not at all; a link is not followed.
pub fn write(path: &Path, content: &[u8], option: &str) -> Result<(), Failure> {
    replace(path, content).map_err(|error| {
        Failure::Environment(format!(
            "cannot write {}: {error}; choose another place with {option}",
            path.display()
        ))
    })
}
