//! `bitcost show`: the table of an execution again, from its log alone.

use std::path::PathBuf;

use bitcost_analysis::compare::THRESHOLD_PCT;

use crate::failure::Failure;
use crate::format::Look;
use crate::opened::{self, Reading};
use crate::output;

/// Which executions, and how.
#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder; several are printed one after the other, or as rows of one table
    /// [default: the newest execution in bitcost-runs]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    reading: Reading,
}

/// Prints them.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let logs = opened::open_all(&arguments.folders, arguments.reading)?;
    output::form(&arguments.look.render(&logs, THRESHOLD_PCT)?)
}
