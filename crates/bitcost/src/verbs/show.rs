//! `bitcost show`: the table of an execution again, from its log alone.

use std::path::PathBuf;

use report::{Summary, TextOptions};
use store::Log;

use crate::failure::Failure;
use crate::output;

/// In fewer columns a table has no room for a number.
const LEAST_COLUMNS: u16 = 40;

/// Which execution.
#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder
    folder: PathBuf,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
}

/// Prints it.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let log = store::read(&arguments.folder)?;
    report_cut(&log);
    let summary = Summary::from_events(&log.events).map_err(|error| Failure::Usage(error.to_string()))?;
    print(&summary, arguments.json)
}

/// Says what follows the last whole line of a log.
pub fn report_cut(log: &Log) {
    if let Some(cut) = &log.incomplete {
        eprintln!(
            "bitcost: the log is cut short: line {} has {} bytes and no end; it is left out",
            cut.line, cut.bytes
        );
    }
}

/// Prints a result on standard output.
pub fn print(summary: &Summary, json: bool) -> Result<(), Failure> {
    if json { output::print(&report::json_text(summary)) } else { output::print(&report::text(summary, look())) }
}

/// Tables fold in a terminal that is narrower than usual; headings are bold in one that can, unless `NO_COLOR` is set.
fn look() -> TextOptions {
    let usual = TextOptions::default().width;
    let columns = console::Term::stdout().size_checked().map_or(usual, |(_, columns)| columns);
    TextOptions { colour: console::colors_enabled(), width: columns.clamp(LEAST_COLUMNS, usual) }
}
