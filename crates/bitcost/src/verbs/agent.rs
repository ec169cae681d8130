//! `bitcost agent`: plays one end of each run for a controller on standard input and output.

use agent::Keeping;

use crate::failure::Failure;

/// Where it plays.
#[derive(clap::Args)]
pub struct Arguments {
    /// The host is one of a lab, gone with its processes: keep no journal of its settings
    #[arg(long)]
    pub in_lab: bool,
}

/// Serves until standard input ends.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let keeping = if arguments.in_lab { Keeping::lab() } else { Keeping::journal_in(host::journal::folder()) };
    ::agent::serve(std::io::stdin(), std::io::stdout(), &keeping)
        .map_err(|error| Failure::Environment(error.to_string()))
}
