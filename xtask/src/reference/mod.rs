//! `cargo xtask reference`: the pages of docs/reference, written from the tables of the code.

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

/// A page: its file below docs/reference, the code that it is made of, and its text.
struct Page {
    file: &'static str,
    source: &'static str,
    text: String,
}

impl Page {
    fn whole(&self) -> String {
        let text = self.text.trim_end();
        format!(
            "<!-- Written by `cargo xtask reference` from {}; changes here are lost. -->\n\n{text}\n",
            self.source
        )
    }
}

/// Writes the pages, or compares them. Returns false if a page is not current.
pub fn run(arguments: &Arguments) -> Result<bool> {
    let program = given_or_built(arguments.program.as_deref())?;
    let folder = root().join("docs/reference");
    let mut is_current = true;
    for page in pages(&program)? {
        let path = folder.join(page.file);
        if arguments.check {
            if std::fs::read_to_string(&path).unwrap_or_default() != page.whole() {
                eprintln!(
                    "docs/reference/{} is not what {} says now; write it by `cargo xtask reference`",
                    page.file, page.source
                );
                is_current = false;
            }
        } else {
            std::fs::create_dir_all(&folder)?;
            std::fs::write(&path, page.whole()).with_context(|| path.display().to_string())?;
        }
    }
    Ok(is_current)
}

fn pages(program: &Path) -> Result<Vec<Page>> {
    let page = |file, source, text| Page { file, source, text };
    Ok(vec![
        page(
            "commands.md",
            "the definitions of the command line (`bitcost man --markdown`)",
            commands(program)?,
        ),
        page(
            "settings.md",
            "`model::settings::SETTINGS` and `host::KNOBS`",
            tables::settings(),
        ),
        page(
            "metrics.md",
            "`analysis::metrics::METRICS`",
            tables::metrics(),
        ),
        page(
            "workloads.md",
            "`model::workload::WORKLOADS` and `model::modes::MODES`",
            tables::workloads(),
        ),
        page(
            "limiters.md",
            "`analysis::explain::LIMITERS`",
            tables::limiters(),
        ),
        page(
            "study-keys.md",
            "`study::tables`",
            bitcost_study::markdown(),
        ),
    ])
}

/// The page of the commands, as the program prints it.
fn commands(program: &Path) -> Result<String> {
    output(Command::new(program).args(["man", "--markdown"]))
}
