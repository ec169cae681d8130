//! Executions that are read from their folders.

use std::path::{Path, PathBuf};

use bitcost_analysis::findings::{Findings, LogPlace};
use bitcost_execute::store::{End, USUAL_PARENT, newest};

use crate::failure::Failure;
use crate::output;

/// Reads a folder, or that of this name in the usual parent, once, and says where its log ends within a line.
pub fn open(folder: &Path) -> Result<Findings, Failure> {
    let named = Path::new(USUAL_PARENT).join(folder);
    let folder = match !folder.exists() && named.exists() {
        true => &named,
        false => folder,
    };
    let (findings, end) = bitcost_execute::read(folder)?;
    report_cut(&end);
    Ok(findings?)
}

/// The folder of an execution as the user named it; empty where its log was kept in memory alone.
pub fn folder(findings: &Findings) -> &Path {
    let log = findings.log.as_ref();
    log.map_or(Path::new(""), LogPlace::folder)
}

/// An execution that is among those before it.
pub fn named_twice(executions: &[Findings]) -> Option<&Findings> {
    let whole: Vec<PathBuf> = executions.iter().map(whole_path).collect();
    let twice = (1..whole.len()).find(|place| whole[..*place].contains(&whole[*place]))?;
    Some(&executions[twice])
}

/// The absolute path of its folder.
pub fn whole_path(findings: &Findings) -> PathBuf {
    let folder = folder(findings);
    folder.canonicalize().unwrap_or_else(|_| folder.to_owned())
}

/// Removes a log and its folder, and the folder around it if that is empty and has the usual name.
/// What cannot be removed stays.
pub fn remove(findings: &Findings) {
    let Some(log) = &findings.log else { return };
    if std::fs::remove_file(&log.path).is_err() {
        return;
    }
    let _ = std::fs::remove_dir(log.folder());
    let around = log.folder().parent();
    let usual = around.filter(|folder| *folder == Path::new(USUAL_PARENT));
    if let Some(folder) = usual {
        let _ = std::fs::remove_dir(folder);
    }
}

/// Prints on standard error where the log in a folder is.
pub fn say_place(folder: &Path) {
    let path = folder.join(bitcost_execute::store::LOG_NAME);
    output::say_whole(&format!("log: {}", path.display()));
}

/// Prints on standard error how the table of the log in a folder is printed again; prints nothing if there is no log.
pub fn say_log(folder: Option<&Path>) {
    if let Some(folder) = folder {
        output::say_whole(&format!(
            "print again: bitcost show {}",
            output::shell_word(folder)
        ));
    }
}

/// Prints the caveats of logs on standard error, for forms of output that cannot hold them.
pub fn say_caveats(executions: &[Findings]) {
    for execution in executions {
        let name = if executions.len() > 1 {
            format!("{}: ", execution.name)
        } else {
            String::new()
        };
        execution
            .summary
            .caveats
            .iter()
            .for_each(|caveat| output::say(&format!("caveat: {name}{caveat}")));
    }
}

/// Reads all these folders, or the newest execution where none is named, which it says, and gives no two logs the same
/// name.
pub fn open_all(folders: &[PathBuf]) -> Result<Vec<Findings>, Failure> {
    let newest: Vec<PathBuf> = match folders {
        [] => newest_folders::<1>()?.to_vec(),
        _ => Vec::new(),
    };
    for folder in &newest {
        output::say(&format!("the newest execution: {}", folder.display()));
    }
    let mut found = folders
        .iter()
        .chain(&newest)
        .map(|folder| open(folder))
        .collect::<Result<Vec<_>, _>>()?;
    name_apart(&mut found);
    Ok(found)
}

/// The newest executions, where the user named none.
pub fn newest_folders<const MANY: usize>() -> Result<[PathBuf; MANY], Failure> {
    let mut found = newest();
    found.truncate(MANY);
    <[PathBuf; MANY]>::try_from(found).map_err(|found| {
        let few = if found.is_empty() { "no" } else { "only one" };
        Failure::Usage(format!(
            "there is {few} execution in {USUAL_PARENT}; give the folder of one, or make one with `bitcost test tcp`"
        ))
    })
}

/// Renames executions whose folders have the same name: each is named by the path of its folder.
pub fn name_apart(found: &mut [Findings]) {
    let names: Vec<String> = found.iter().map(|one| one.name.clone()).collect();
    for one in found {
        if names.iter().filter(|name| **name == one.name).count() > 1 {
            one.name = folder(one).display().to_string();
        }
    }
}

/// Prints what follows the last whole line of a log.
pub fn report_cut(end: &End) {
    if let Some(bytes) = end.incomplete {
        output::say(&format!(
            "bitcost: the log ends within line {}, after {bytes} bytes; that line is left out",
            end.lines + 1
        ));
    }
}
