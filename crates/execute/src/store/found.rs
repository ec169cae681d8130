//! Describes a path that holds no log.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::ExecuteError;
use crate::store::error::LOG_NAME;

/// The error for a path that is not an execution, with what it is; absent if it names nothing, or
/// cannot be examined.
pub(crate) fn strange(path: &Path) -> Option<ExecuteError> {
    let error = |found: String, advice: &str| no_execution(path, &found, advice);
    let is_absent = path.symlink_metadata().err();
    if is_absent.is_some_and(|error| error.kind() == ErrorKind::NotFound) {
        return Some(ExecuteError::Usage(format!(
            "there is no file or folder `{}`{}",
            path.display(),
            instead()
        )));
    }
    if path.is_file() {
        let bytes = path.metadata().map_or(0, |data| data.len());
        let advice = "; `bitcost import` reads files of other programs, such as netperf and iperf3";
        return Some(error(format!("a file of {bytes} bytes"), advice));
    }
    std::fs::read_dir(path).ok()?;
    let names = names(path);
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
                format!("a folder with other files ({first}{more})"),
                "",
            ))
        }
    }
}

/// The folder in which executions are kept unless the user names another one.
pub const USUAL_PARENT: &str = "bitcost-runs";

/// The executions in the usual folder, the newest first.
pub fn newest() -> Vec<PathBuf> {
    let usual = Path::new(USUAL_PARENT);
    executions(usual, &names(usual))
}

/// What to name instead of a path that does not exist.
fn instead() -> String {
    match newest().first() {
        Some(newest) => format!("; the newest execution is {}", newest.display()),
        None => {
            format!("; `bitcost test` and `bitcost run` keep their executions in {USUAL_PARENT}")
        }
    }
}

/// The names of the entries of a folder, in order; none where it cannot be read.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

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

fn of_executions(path: &Path, executions: &[PathBuf]) -> ExecuteError {
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
    no_execution(path, &found, &advice)
}

/// The error for a path that is something else; `advice` begins with a semicolon.
fn no_execution(path: &Path, found: &str, advice: &str) -> ExecuteError {
    ExecuteError::Usage(format!(
        "{} is {found}, not an execution's folder, which holds a file {LOG_NAME}{advice}",
        path.display()
    ))
}
