//! The bitcost programs that play the endpoints: this one, and those that runs name.
//!
//! Each file is opened once and started by its open descriptor, so that replacing the file in the
//! meantime has no effect.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bitcost_model::Unavailable;
use bitcost_model::event::ProgramUsed;
use bitcost_model::plan::Plan;
use bitcost_sys::files::open_regular_target;

use crate::error::ExecuteError;
use crate::identity;

/// Bits of a file's mode by which somebody may execute it (inode(7)).
const EXECUTABLE: u32 = 0o111;

#[derive(Default)]
pub struct Programs {
    others: Vec<Program>,
    /// The identity line of this program, computed when it is first needed.
    own: OnceLock<Result<String, Unavailable>>,
}

struct Program {
    asked: String,
    file: File,
    /// Its identity line, `bitcost 0.1.0 x86_64 11632144-5f0c…`; empty until it was started once.
    line: String,
    identity: String,
}

impl Programs {
    /// Opens and reads the programs that the runs of a plan name, without starting them.
    ///
    /// # Errors
    /// Usage, when one cannot be read or is no file.
    pub fn open(plan: &Plan) -> Result<Programs, ExecuteError> {
        let mut others: Vec<Program> = Vec::new();
        for asked in plan
            .cells
            .iter()
            .filter_map(|cell| cell.conditions.program.as_ref())
        {
            if others.iter().all(|known| known.asked != *asked) {
                others.push(Program::open(asked).map_err(|why| cannot(asked, &why))?);
            }
        }
        Ok(Programs {
            others,
            own: OnceLock::new(),
        })
    }

    /// Starts each program once and reads its identity line.
    ///
    /// # Errors
    /// Usage, when one cannot be started or is no bitcost.
    pub fn identify(&mut self) -> Result<(), ExecuteError> {
        self.others.iter_mut().try_for_each(|program| {
            program
                .identify()
                .map_err(|why| cannot(&program.asked, &why))
        })
    }

    pub fn others(&self) -> impl Iterator<Item = &str> {
        self.others.iter().map(|program| program.asked.as_str())
    }

    fn find(&self, asked: &str) -> Result<&Program, Unavailable> {
        let found = self.others.iter().find(|program| program.asked == asked);
        found.ok_or_else(|| {
            Unavailable(format!(
                "the program {asked} does not belong to this execution"
            ))
        })
    }

    /// The path of a program's open file as the process `pid`, or `self`, sees it.
    pub fn path(&self, asked: Option<&str>, pid: &str) -> Result<String, Unavailable> {
        Ok(match asked {
            Some(asked) => format!("/proc/{pid}/fd/{}", self.find(asked)?.file.as_raw_fd()),
            None => format!("/proc/{pid}/exe"),
        })
    }

    /// The path of a program for sudo: its own path, which a rule of sudoers(5) can name, if that
    /// is still the same file; otherwise the file that this process has open.
    pub fn path_for_sudo(&self, asked: Option<&str>) -> Result<PathBuf, Unavailable> {
        // In sudo, /proc/self would be sudo itself.
        let held = PathBuf::from(self.path(asked, &std::process::id().to_string())?);
        let named = std::fs::read_link(&held).unwrap_or_default();
        let file = |path: &Path| {
            std::fs::metadata(path)
                .map(|facts| (facts.dev(), facts.ino()))
                .ok()
        };
        Ok(
            if named.is_absolute() && file(&named).is_some() && file(&named) == file(&held) {
                named
            } else {
                held
            },
        )
    }

    /// The identity line of a program.
    pub fn line(&self, asked: Option<&str>) -> Result<&str, Unavailable> {
        match asked {
            Some(asked) => Ok(&self.find(asked)?.line),
            None => {
                let own = self.own.get_or_init(identity::line);
                own.as_deref().map_err(Clone::clone)
            }
        }
    }

    /// A program's file, to be read from its start.
    pub fn file(&self, asked: Option<&str>) -> Result<File, Unavailable> {
        let path = self.path(asked, "self")?;
        File::open(&path).map_err(|error| Unavailable(format!("cannot read {path}: {error}")))
    }

    /// All programs as a log keeps them; empty if runs name none.
    pub fn used(&self) -> Result<Vec<ProgramUsed>, Unavailable> {
        if self.others.is_empty() {
            return Ok(Vec::new());
        }
        let own = identity::of(&mut self.file(None)?)?;
        let path = std::env::current_exe()
            .map(|path| path.to_string_lossy().into_owned())
            .unwrap_or_default();
        let this = ProgramUsed {
            requested: None,
            path,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            identity: own,
        };
        let used = |program: &Program| ProgramUsed {
            requested: Some(program.asked.clone()),
            path: std::fs::canonicalize(&program.asked)
                .map_or_else(|_| program.asked.clone(), |path| path.display().to_string()),
            version: program
                .line
                .split(' ')
                .nth(1)
                .unwrap_or_default()
                .to_owned(),
            identity: program.identity.clone(),
        };
        Ok([this]
            .into_iter()
            .chain(self.others.iter().map(used))
            .collect())
    }
}

fn cannot(asked: &str, why: &str) -> ExecuteError {
    ExecuteError::Usage(format!("the program {asked}: {why}"))
}

impl Program {
    fn open(asked: &str) -> Result<Program, String> {
        let opened = open_regular_target(Path::new(asked));
        let mut file =
            opened.map_err(|error| format!("cannot read it: {error}; allowed: another bitcost"))?;
        if file
            .metadata()
            .is_ok_and(|facts| facts.mode() & EXECUTABLE == 0)
        {
            return Err("it is not executable; allowed: another bitcost".to_owned());
        }
        let identity = identity::of(&mut file)?;
        Ok(Program {
            asked: asked.to_owned(),
            file,
            line: String::new(),
            identity,
        })
    }

    fn identify(&mut self) -> Result<(), String> {
        let mut command = Command::new(format!("/proc/self/fd/{}", self.file.as_raw_fd()));
        command
            .args(["agent", "--identify"])
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        let output = command
            .output()
            .map_err(|error| format!("cannot start it: {error}; allowed: another bitcost"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.lines().next().unwrap_or_default().to_owned();
        if !line.starts_with("bitcost ") || line.split(' ').count() != 4 {
            return Err(
                "it does not identify itself as bitcost (`agent --identify`); allowed: another bitcost that has this option"
                    .to_owned(),
            );
        }
        self.line = line;
        Ok(())
    }
}

/// Checks that a resumed execution has the programs with which it began.
///
/// # Errors
/// Environment, with the first program that is a different one.
pub fn check_same(before: &[ProgramUsed], now: &[ProgramUsed]) -> Result<(), ExecuteError> {
    for was in before {
        let is = now
            .iter()
            .find(|program| program.requested == was.requested);
        if is.is_none_or(|is| is.identity != was.identity) {
            let now = is.map_or("not there".to_owned(), |is| {
                format!("one of size and hash {}", is.identity)
            });
            return Err(ExecuteError::Environment(format!(
                "the program {} is not the one of this execution: was bitcost {} of size and hash {}, is {now}; install that one, or start a new execution",
                was.path, was.version, was.identity
            )));
        }
    }
    Ok(())
}
