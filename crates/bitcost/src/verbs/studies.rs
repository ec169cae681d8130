//! `bitcost studies`: the embedded studies, listed or printed.

use bitcost_render::layout::folded_text;

use crate::failure::Failure;
use crate::output;
use crate::studies::{EMBEDDED, find};
use crate::terminal::columns;

/// Columns of text where standard output is not a terminal.
const COLUMNS: u16 = 80;

/// What to print.
#[derive(clap::Args)]
pub struct Arguments {
    /// Study whose file is printed, to be copied and changed [default: list all]
    name: Option<String>,
}

/// Lists or prints.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(name) = &arguments.name {
        return output::print(&find(name)?.text);
    }
    for (name, _) in EMBEDDED {
        let study = find(name)?;
        let text = format!("{name}\n    {}\n    {}\n", study.title, study.question);
        output::print(&folded_text(&text, columns().unwrap_or(COLUMNS), 4))?;
    }
    Ok(())
}
