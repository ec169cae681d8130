//! `bitcost completions`: completion scripts for shells.

use clap::Command;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Shell
    shell: Shell,
}

pub fn run(arguments: &Arguments, mut command: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "bitcost", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
