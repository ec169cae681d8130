//! `bitcost show`: the result of an execution again, from its log alone.

use std::path::PathBuf;

use bitcost_analysis::compare::{Side, THRESHOLD_PCT, of_study};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::profile::{Chains, chains};

use super::compare::side;
use crate::failure::Failure;
use crate::format::Look;
use crate::opened::{self, Reading};
use crate::outcome::say_answer;
use crate::output;

/// Which executions, and how.
#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder; several are printed one after the other, or as rows of one table
    /// [default: the newest execution in bitcost-runs]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Print the folded call chains of a cell's profiled runs for other programs, as `owner;function;…
    /// samples`; CELL is factor=level, several separated by commas, or `all`
    #[arg(long, value_name = "CELL", conflicts_with_all = ["json", "format", "rows", "samples", "verbose", "run"])]
    folded: Option<String>,
    #[command(flatten)]
    look: Look,
    #[command(flatten)]
    reading: Reading,
}

/// Prints them; a study ends with its answer, as when it was executed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.look.check()?;
    let mut found = opened::open_all(&arguments.folders, arguments.reading)?;
    if let Some(cell) = &arguments.folded {
        return folded(&found, cell);
    }
    for one in &mut found {
        one.comparison = of_study(one, THRESHOLD_PCT);
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

/// Prints the call chains of the cells with these levels, each with its number of samples.
fn folded(executions: &[Findings], words: &str) -> Result<(), Failure> {
    let [execution] = executions else {
        return Err(Failure::Usage(
            "--folded prints the call chains of one execution; name one folder".to_owned(),
        ));
    };
    let side = match words {
        "all" => Side(Vec::new()),
        words => side(execution, words)?,
    };
    let cells = &execution.summary.cells;
    let mut all = Chains::new();
    for (chain, samples) in chains(execution, |cell| side.has(&cells[cell]))
        .into_iter()
        .flatten()
    {
        *all.entry(chain).or_default() += samples;
    }
    if all.is_empty() {
        return Err(Failure::Check(format!(
            "no run of `{words}` was profiled; repeat the execution with --profile"
        )));
    }
    let lines = all
        .iter()
        .map(|(chain, samples)| format!("{chain} {samples}\n"));
    output::print(&lines.collect::<String>())
}
