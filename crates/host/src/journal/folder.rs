//! The folder of journals: one per user, with one file per network namespace.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use bitcost_model::Unavailable;

const ENDING: &str = "journal";
pub const SYSTEM_STATE: &str = "/var/lib/bitcost";
/// Mode bits that the folder must not have: write permission of group and others.
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// The folder of journals: `BITCOST_STATE_DIR`, or `/var/lib/bitcost` for root, or the user's state
/// folder.
pub fn folder() -> PathBuf {
    let variable = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    if let Some(path) = variable("BITCOST_STATE_DIR") {
        return path;
    }
    let uid_map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    let is_whole = uid_map
        .split_ascii_whitespace()
        .eq(["0", "0", "4294967295"]);
    if bitcost_sys::process::effective_uid() == 0 && is_whole {
        return PathBuf::from(SYSTEM_STATE);
    }
    let state = variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    state.map_or_else(
        || PathBuf::from(SYSTEM_STATE),
        |state| state.join("bitcost"),
    )
}

/// Creates the folder if needed, and checks that nobody else may write to it.
pub fn ready(folder: &Path) -> Result<(), Unavailable> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| unusable(folder, &error))?;
    check_private(folder)
}

/// Checks that nobody but its owner, the user or root, may write to the folder. A folder that does
/// not exist, or that this user cannot reach, has no journal of this user and passes.
pub fn check_private(folder: &Path) -> Result<(), Unavailable> {
    use io::ErrorKind::{NotFound, PermissionDenied};
    let meta = match fs::metadata(folder) {
        Ok(meta) => meta,
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => return Ok(()),
        Err(error) => return Err(unusable(folder, &error)),
    };
    let is_trusted = [bitcost_sys::process::effective_uid(), 0].contains(&meta.uid());
    if !is_trusted || meta.mode() & WRITABLE_BY_OTHERS != 0 {
        return Err(Unavailable(format!(
            "the state folder {} belongs to user {} with mode {:o}: other users may write to it; make it private (chmod 700), or set BITCOST_STATE_DIR to another folder",
            folder.display(),
            meta.uid(),
            meta.mode() & 0o7777
        )));
    }
    Ok(())
}

fn unusable(folder: &Path, error: &io::Error) -> Unavailable {
    Unavailable(format!(
        "cannot use the state folder {}: {error}",
        folder.display()
    ))
}

/// Every journal of a folder; none when the folder does not exist.
pub fn all(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let mut paths: Vec<PathBuf> = entries
        .filter(|path| path.extension().is_some_and(|end| end == ENDING))
        .collect();
    paths.sort();
    paths
}

/// The journal of the caller's network namespace.
pub fn path_here(folder: &Path) -> PathBuf {
    let name = bitcost_sys::namespace::network_cookie()
        .map_or("network".to_owned(), |cookie| format!("network-{cookie}"));
    folder.join(name).with_extension(ENDING)
}
