//! The JSON of `bitcost test` and `bitcost show`, where it is named instead of an execution's
//! folder.

use std::fs::{File, Metadata};
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::failure::Failure;
use crate::output::shell_word;

/// The most bytes that are read of a file.
const MOST: u64 = 64 << 20;

/// The error for a file that is JSON which bitcost printed, with the folder to name instead; absent
/// for any other path.
pub fn refused(path: &Path) -> Option<Failure> {
    let document = document(path)?;
    let shown = path.display();
    let what = "is JSON that bitcost printed, which has only the figures";
    let log = document["log"].as_str().map(Path::new);
    let Some(folder) = log.and_then(Path::parent) else {
        return Some(Failure::Usage(format!(
            "{shown} {what}; name the execution's folder, which the line `log:` named when it was made"
        )));
    };
    let gone = match folder.exists() {
        true => "",
        false => ", which no longer exists on this machine",
    };
    Some(Failure::Usage(format!(
        "{shown} {what}; name the execution's folder: {}{gone}",
        shell_word(folder)
    )))
}

/// The document in a file, if bitcost printed it.
fn document(path: &Path) -> Option<Value> {
    // A FIFO would be waited for.
    path.metadata().ok().filter(Metadata::is_file)?;
    let file = File::open(path).ok()?;
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).ok()?;
    let document: Value = serde_json::from_str(&text).ok()?;
    let has = |key: &str| document.get(key).is_some();
    let is_own = has("format") && has("cells") && (has("bitcost_version") || has("study"));
    is_own.then_some(document)
}
