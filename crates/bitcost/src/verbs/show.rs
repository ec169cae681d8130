//! `bitcost show`: the result of an execution again, from its log alone.

use std::path::PathBuf;

use bitcost_analysis::compare::{THRESHOLD_PCT, of_study};

use crate::failure::Failure;
use crate::format::Look;
use crate::opened::{self, Reading};
use crate::outcome::say_answer;

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

/// Prints them; a study ends with its answer, as when it was executed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.look.check()?;
    let mut found = opened::open_all(&arguments.folders, arguments.reading)?;
    for one in &mut found {
        one.comparison = of_study(one, THRESHOLD_PCT);
    }
    if let [one] = &found[..]
        && one.single().is_some()
    {
        arguments.look.print_repetitions(one)?;
    }
    arguments.look.print(&found)?;
    if let [one] = &found[..]
        && one.single().is_none()
        && arguments.look.is_for_people()
    {
        say_answer(one, &arguments.look);
    }
    Ok(())
}
