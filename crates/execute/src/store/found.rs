//! Describes a path that holds no log.

use std::path::{Path, PathBuf};

use crate::store::error::{LOG_NAME, StoreError};

/// The error for a path that is not an execution, with what it is; absent if it names nothing, or
/// cannot be examined.
pub(crate) fn strange(path: &Path) -> Option<StoreError> {
    let error = |found: String, advice: &str| StoreError::NotAnExecution {
        path: path.to_owned(),
        found,
        advice: advice.to_owned(),
    };
    if path.is_file() {
        let bytes = path.metadata().map_or(0, |data| data.len());
        let advice = "; `bitcost import` reads files of netperf, iperf3, nuttcp and flent";
        return Some(error(format!("a file of {bytes} bytes"), advice));
    }
    let mut names: Vec<String> = std::fs::read_dir(path)
        .ok()?
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let log = path.join(LOG_NAME);
    match names.len() {
        _ if log.symlink_metadata().is_ok() => None,
        0 => Some(error("an empty folder".to_owned(), "")),
        _ if !executions(path, &names).is_empty() => {
            Some(of_executions(path, &executions(path, &names)))
        }
        count => {
            let first = names.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let more = if count > 3 { ", …" } else { "" };
            Some(error(
                format!("a folder with other things ({first}{more})"),
                "",
            ))
        }
    }
}

/// The executions in a folder, the newest first.
fn executions(path: &Path, names: &[String]) -> Vec<PathBuf> {
    let log_at = |folder: &PathBuf| {
        folder
            .join(LOG_NAME)
            .metadata()
            .and_then(|data| data.modified())
            .ok()
    };
    let folders = names.iter().map(|name| path.join(name));
    let mut found: Vec<_> = folders
        .filter_map(|folder| Some((log_at(&folder)?, folder)))
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The most executions that the error for a folder with several names.
const NAMED: usize = 3;

fn of_executions(path: &Path, executions: &[PathBuf]) -> StoreError {
    let names: Vec<String> = executions
        .iter()
        .take(NAMED)
        .map(|folder| folder.display().to_string())
        .collect();
    let (found, advice) = match executions {
        [_] => (
            "a folder that holds one".to_owned(),
            format!("; did you mean {}?", names[0]),
        ),
        several => (
            format!("a folder that holds {}", several.len()),
            format!("; the newest: {}", names.join(", ")),
        ),
    };
    StoreError::NotAnExecution {
        path: path.to_owned(),
        found,
        advice,
    }
}
