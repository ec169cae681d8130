//! The JSON of `bitcost test` and `bitcost show`, where it is named instead of an execution's
//! folder.

use std::fs::{File, Metadata};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;

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
    let Some(folder) = document.log.as_deref().and_then(Path::parent) else {
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

/// What is looked at of a document that bitcost printed; the rest is not kept.
#[derive(Deserialize)]
struct Document {
    #[serde(rename = "format")]
    _format: IgnoredAny,
    #[serde(rename = "cells")]
    _cells: IgnoredAny,
    bitcost_version: Option<IgnoredAny>,
    study: Option<IgnoredAny>,
    log: Option<PathBuf>,
}

/// The document in a file, if bitcost printed it.
fn document(path: &Path) -> Option<Document> {
    // A FIFO would be waited for.
    path.metadata().ok().filter(Metadata::is_file)?;
    let file = BufReader::new(File::open(path).ok()?.take(MOST));
    let document: Document = serde_json::from_reader(file).ok()?;
    let is_own = document.bitcost_version.is_some() || document.study.is_some();
    is_own.then_some(document)
}
