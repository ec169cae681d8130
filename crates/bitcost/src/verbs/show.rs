//! `bitcost show`: the result of an execution again, from its log alone.

use std::path::{Path, PathBuf};

use bitcost_analysis::compare::{THRESHOLD_PCT, of_study};
use bitcost_analysis::findings::Findings;
use bitcost_analysis::profile::folded;

use crate::failure::Failure;
use crate::format::Look;
use crate::opened;
use crate::outcome::say_answer;

#[derive(clap::Args)]
pub struct Arguments {
    /// The execution's folder; several are printed one after the other, or as rows of one table
    /// [default: the newest execution in bitcost-runs]
    #[arg(value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Write the folded call chains of the profiled runs to this file, as speedscope and flamegraph.pl
    /// read them; `/dev/stdout` prints them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "format", "rows", "samples", "verbose"])]
    folded: Option<PathBuf>,
    #[command(flatten)]
    look: Look,
}

/// Prints them; a study ends with its answer, as when it was executed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    arguments.look.check()?;
    let mut found = opened::open_all(&arguments.folders)?;
    if let Some(path) = &arguments.folded {
        return write_folded(&found, path);
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

/// Writes the call chains of an execution, each with its number of samples.
fn write_folded(executions: &[Findings], path: &Path) -> Result<(), Failure> {
    let [execution] = executions else {
        return Err(Failure::Usage(
            "--folded writes the call chains of one execution; name one folder".to_owned(),
        ));
    };
    let chains = folded(execution);
    if chains.is_empty() {
        return Err(Failure::Check(
            "no run was profiled, so there are no call chains; repeat the execution with --profile"
                .to_owned(),
        ));
    }
    let lines = chains.iter();
    let lines = lines.map(|(chain, samples)| format!("{chain} {samples}\n"));
    std::fs::write(path, lines.collect::<String>())
        .map_err(|error| Failure::Environment(format!("write {}: {error}", path.display())))
}
