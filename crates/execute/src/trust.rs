//! Checks whether the hosts that a log names may be used: somebody else may have written the log.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use bitcost_sys::process::effective_uid;

use crate::destination::Destination;
use crate::error::ExecuteError;
use crate::hosts::Named;
use crate::logged::Logged;
use crate::progress::Progress;
use crate::store::LOG_NAME;

/// Bits of a file's mode by which everybody may write it (inode(7)).
const WRITABLE_BY_ALL: u32 = 0o002;

impl Logged {
    /// Reports what resuming starts, and refuses it if somebody other than the user could have written
    /// that, unless `trust`.
    pub fn check_trust(
        &self,
        destination: &Destination,
        trust: bool,
        progress: &mut dyn Progress,
    ) -> Result<(), ExecuteError> {
        let named = match destination {
            Destination::Hosts(named) => Some(&**named),
            Destination::Lab => None,
        };
        let started = named.map_or("agents in the embedded lab".to_owned(), Named::started);
        if named.is_some() {
            progress.message(&format!("the log names what is started: {started}"));
        }
        let config = named.and_then(|named| named.spec.ssh_config.as_deref());
        let folder = fs::metadata(&self.folder).ok();
        let config = config.map(|path| (Path::new(path), fs::metadata(path).ok(), true));
        let log = self.folder.join(LOG_NAME);
        let files = [
            (self.folder.as_path(), folder, false),
            (&log, Some(self.facts.clone()), false),
        ];
        let files = files.into_iter().chain(config);
        // The code that needs a missing file reports it.
        let foreign: Vec<String> = files
            .filter_map(|(path, facts, of_root)| foreign(path, &facts?, of_root))
            .collect();
        if trust || foreign.is_empty() {
            return Ok(());
        }
        Err(ExecuteError::Usage(format!(
            "{}; nothing was started. Resuming starts, with the privileges of user {}, {started}; if you trust the author of the log, add --trust",
            foreign.join("; "),
            effective_uid()
        )))
    }
}

/// A phrase that names who other than the user could have written a file; a file of root may be
/// allowed.
fn foreign(path: &Path, facts: &Metadata, of_root: bool) -> Option<String> {
    let (own, path) = (effective_uid(), path.display());
    if facts.uid() != own && !(of_root && facts.uid() == 0) {
        return Some(format!("{path} belongs to user {}", facts.uid()));
    }
    (facts.mode() & WRITABLE_BY_ALL != 0).then(|| format!("{path} may be written by every user"))
}
