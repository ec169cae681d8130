//! `bitcost studies`: the embedded studies, listed or printed.

use crate::failure::Failure;
use crate::output;
use crate::studies::{EMBEDDED, find};

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
        output::line(&format!(
            "{name}\n    {}\n    {}",
            study.title, study.question
        ))?;
    }
    Ok(())
}
