//! `bitcost studies new`: a new study file.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::output;
use crate::studies::find;

#[derive(clap::Args)]
pub struct New {
    /// Study to begin with: the name of an embedded one (`bitcost studies`), or the path of a study
    /// file [default: one that shows every part]
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// File to write, which must not exist; `-` is standard output
    #[arg(default_value = "study.toml")]
    file: PathBuf,
}

const TEMPLATE: &str = include_str!("study.toml");

impl New {
    /// Writes the file.
    pub fn write(&self) -> Result<(), Failure> {
        let shown = output::shell_word(&self.file);
        let text = match &self.from {
            None => TEMPLATE.replace("{file}", &shown),
            Some(name) => format!(
                "# A copy of the study {name}. `bitcost plan {shown}` reports every mistake in it, `bitcost run {shown}` runs it;\n\
                 # docs/reference/study-keys.md describes every key.\n\n{}",
                find(name)?.text
            ),
        };
        if self.file.as_os_str() == "-" {
            return output::print(&text);
        }
        create(&self.file, &text)?;
        output::line(&self.file.display().to_string())?;
        output::say_whole(&format!("next: bitcost plan {shown}"));
        Ok(())
    }
}

/// A file in the folder of this one that does not exist: `mine-2.toml`.
fn free(file: &Path) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let numbered = |number| file.with_file_name(format!("{stem}-{number}.toml"));
    let mut names = (2..100).map(numbered);
    let free = names.find(|name| name.symlink_metadata().is_err());
    free.unwrap_or_else(|| numbered(100))
}

/// Writes a file that does not exist yet.
fn create(file: &Path, text: &str) -> Result<(), Failure> {
    let shown = file.display();
    let opened = OpenOptions::new().write(true).create_new(true).open(file);
    let mut opened = opened.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Failure::Usage(format!(
            "{shown} exists and is left as it is; name another file, as in `bitcost studies new {}`",
            output::shell_word(&free(file))
        )),
        _ => Failure::Environment(format!("cannot write {shown}: {error}; name another file")),
    })?;
    opened
        .write_all(text.as_bytes())
        .map_err(|error| Failure::Environment(format!("cannot write {shown}: {error}")))
}
