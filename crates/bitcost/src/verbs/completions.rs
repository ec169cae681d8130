//! `bitcost completions`: what a shell must know to complete bitcost's words.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::{Cli, output};

/// Which shell.
#[derive(clap::Args)]
pub struct Arguments {
    /// The shell
    shell: Shell,
}

/// Prints its script.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "bitcost", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
