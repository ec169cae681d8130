//! `bitcost man`: the manual, from the definitions of the command line.

mod markdown;

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use super::help::named;
use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Command whose page is printed, such as `lab up` [default: bitcost itself]; `bitcost man
    /// test | man -l -` shows it
    #[arg(conflicts_with = "out", value_name = "COMMAND")]
    words: Vec<String>,
    /// Write all pages to this folder, such as ~/.local/share/man/man1
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print all commands with their options, and the exit codes, as one page of Markdown
    #[arg(long, conflicts_with_all = ["words", "out"])]
    markdown: bool,
}

pub fn run(arguments: &Arguments, command: Command) -> Result<(), Failure> {
    if let Some(folder) = &arguments.out {
        return write_all(command, folder);
    }
    if arguments.markdown {
        return output::print(&markdown::page(command));
    }
    let page = match arguments.words.is_empty() {
        true => command,
        false => {
            let name = format!("bitcost-{}", arguments.words.join("-"));
            let found = named(command, &arguments.words)?;
            found.name(name.clone()).display_name(name)
        }
    };
    let mut text = Vec::new();
    let rendered = Man::new(page)
        .render(&mut text)
        .map_err(|error| error.to_string());
    let text = rendered.and_then(|()| String::from_utf8(text).map_err(|error| error.to_string()));
    output::print(
        &text.map_err(|error| Failure::Environment(format!("cannot write the manual: {error}")))?,
    )
}

/// Writes the pages of a command and of every verb below it.
fn write_all(command: Command, folder: &Path) -> Result<(), Failure> {
    let cannot = |error: std::io::Error| {
        Failure::Environment(format!(
            "cannot write the manual into {}: {error}",
            folder.display()
        ))
    };
    std::fs::create_dir_all(folder).map_err(cannot)?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut left = vec![command];
    while let Some(command) = left.pop() {
        left.extend(
            command
                .get_subcommands()
                .filter(|verb| !verb.is_hide_set())
                .cloned(),
        );
        let (page, mut text) = (Man::new(command), Vec::new());
        page.render(&mut text).map_err(cannot)?;
        output::file(&folder.join(page.get_filename()), &text, "--out FOLDER")?;
    }
    Ok(())
}
