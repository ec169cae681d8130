//! `cargo xtask reference`: the pages of docs/reference, written from the tables of the code.

mod keys;
mod tables;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::programs::{given_or_built, output, root};

/// What is done with the pages.
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail and name each page that is not what the code says
    #[arg(long)]
    check: bool,
    /// The bitcost whose commands are described; else it is built
    #[arg(long, value_name = "PATH")]
    program: Option<PathBuf>,
}

/// Writes the pages, or compares them. Returns false if a page is not current.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    let folder = root().join("docs/reference");
    let mut is_current = true;
    for (file, source, text) in pages(&program)? {
        let (path, text) = (folder.join(file), text.trim_end());
        let text = format!(
            "<!-- Written by `cargo xtask reference` from {source}; changes here are lost. -->\n\n{text}\n"
        );
        if !arguments.check {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&path, text).with_context(|| path.display().to_string())?;
        } else if std::fs::read_to_string(&path).unwrap_or_default() != text {
            eprintln!(
                "docs/reference/{file} is not what {source} says now; write it by `cargo xtask reference`"
            );
            is_current = false;
        }
    }
    Ok(is_current)
}

/// Each page: its file below docs/reference, the code that it is made of, and its text.
fn pages(program: &Path) -> Result<[(&'static str, &'static str, String); 6]> {
    // The first one is printed by the program.
    let commands = output(Command::new(program).args(["man", "--markdown"]))?;
    Ok([
        (
            "commands.md",
            "the definitions of the command line (`bitcost man --markdown`)",
            commands,
        ),
        (
            "settings.md",
            "`model::settings::SETTINGS` and `host::KNOBS`",
            tables::settings(),
        ),
        (
            "metrics.md",
            "`analysis::metrics::METRICS`",
            tables::metrics(),
        ),
        (
            "workloads.md",
            "`model::workload::WORKLOADS` and `model::modes::MODES`",
            tables::workloads(),
        ),
        (
            "limiters.md",
            "`analysis::explain::LIMITERS`",
            tables::limiters(),
        ),
        ("study-keys.md", "`study::tables`", keys::page()),
    ])
}
