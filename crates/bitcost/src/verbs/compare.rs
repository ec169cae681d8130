//! `bitcost compare`: the changes from one execution to another.

use std::path::Path;
use std::slice::from_ref;

use bitcost_analysis::compare::{Comparison, across};
use bitcost_analysis::summary::Summary;
use bitcost_render::block::markdown;
use bitcost_render::comparison::comparison as blocks;
use bitcost_render::document::value;

use crate::failure::Failure;
use crate::opened;
use crate::options::judging::Judging;
use crate::options::repeats::compared_options;
use crate::output;

#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of two executions [default: the two newest executions]
    #[arg(num_args = 2, value_names = ["OLD", "NEW"])]
    sides: Vec<String>,
    /// Executions of the old side, all of the same plan, whose blocks are taken together; requires
    /// --new
    #[arg(long, value_name = "FOLDER", num_args = 1.., requires = "new", conflicts_with = "sides")]
    old: Vec<String>,
    /// Executions of the new side
    #[arg(long, value_name = "FOLDER", num_args = 1.., requires = "old")]
    new: Vec<String>,
    #[command(flatten)]
    judging: Judging,
    /// Metrics to compare, by name, separated by commas [default: those of the study's table]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    metric: Vec<String>,
    /// Print one JSON document; same as --format json
    #[arg(short = 'J', long, conflicts_with = "format")]
    json: bool,
    /// Output format
    #[arg(long, value_name = "FORM", value_parser = ["text", "md", "json"], default_value = "text")]
    format: String,
    /// Print every figure, and not only those that changed
    #[arg(long)]
    all: bool,
}

/// Prints the comparison; with `--fail-on worse` a worse or lost metric is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let comparison = match &arguments.sides[..] {
        [old, new] => executions(arguments, from_ref(old), from_ref(new)),
        _ if arguments.old.is_empty() => {
            let newest = opened::newest_folders::<2>()?;
            let [new, old] = newest.map(|folder| folder.display().to_string());
            executions(arguments, &[old], &[new])
        }
        _ => executions(arguments, &arguments.old, &arguments.new),
    }?;
    print(arguments, &comparison)
}

fn print(arguments: &Arguments, comparison: &Comparison) -> Result<(), Failure> {
    let has_cells = !comparison.cells.is_empty();
    match &*arguments.format {
        form if arguments.json || form == "json" => {
            output::print(&format!("{:#}\n", value(comparison)))
        }
        "md" => output::print(&markdown(&blocks(comparison, arguments.all))),
        _ if has_cells => output::blocks(&blocks(comparison, arguments.all)),
        _ => Ok(()),
    }?;
    match has_cells {
        true => arguments.judging.check(comparison),
        false => Err(nothing_in_common(comparison)),
    }
}

/// Two sides of one execution or several.
fn executions(
    arguments: &Arguments,
    old: &[String],
    new: &[String],
) -> Result<Comparison, Failure> {
    let folders = old.iter().chain(new).map(Path::new);
    let mut all = folders.map(opened::open).collect::<Result<Vec<_>, _>>()?;
    opened::name_apart(&mut all);
    opened::say_caveats(&all);
    if let Some(twice) = opened::named_twice(&all) {
        return Err(Failure::Usage(format!(
            "{} is named twice; name different executions: bitcost compare OLD NEW",
            twice.name
        )));
    }
    let summaries: Vec<&Summary> = all.iter().map(|one| &one.summary).collect();
    let metrics = compared_options(&arguments.metric, &summaries)?;
    let (old, new) = all.split_at(old.len());
    Ok(across(old, new, &metrics, arguments.judging.threshold))
}

/// The error for a comparison without a cell.
fn nothing_in_common(Comparison { old, new, .. }: &Comparison) -> Failure {
    Failure::Usage(format!(
        "{old} and {new} have no cell in common: two cells match if they have the same level of every factor that both executions have; `bitcost show` prints the cells of each"
    ))
}
