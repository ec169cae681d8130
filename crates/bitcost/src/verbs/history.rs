//! `bitcost history`: executions in order of time, the points at which metrics change, and what changed on the hosts.

use std::path::PathBuf;

use bitcost_analysis::compare::THRESHOLD_PCT;
use bitcost_analysis::history::{History, history};
use bitcost_analysis::summary::Summary;
use bitcost_render::history::{history_json, history_markdown, history_text};

use crate::failure::Failure;
use crate::opened::{self, Reading};
use crate::options::form::{Form, Printed};
use crate::options::judging::threshold;
use crate::options::repeats::compared_options;
use crate::output;
use crate::terminal::columns;

/// Columns of text where standard output is no terminal.
const COLUMNS: u16 = 100;

/// Which executions, and how they are judged.
#[derive(clap::Args)]
pub struct Arguments {
    /// Folders of at least 3 executions of the same plan, in any order; they are sorted by start
    /// time
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// Smallest change that counts, in per cent
    #[arg(long, value_name = "PERCENT", default_value_t = THRESHOLD_PCT, value_parser = threshold)]
    threshold: f64,
    /// Exit with code 1 if the last change of any metric in any cell is for the worse
    #[arg(long, value_name = "VERDICT", value_parser = ["worse"])]
    fail_on: Option<String>,
    /// Metrics, by name, separated by commas [default: those of the study's table]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    metric: Vec<String>,
    #[command(flatten)]
    printed: Printed,
    #[command(flatten)]
    reading: Reading,
}

/// Prints the history; with `--fail-on worse` a series whose last change is for the worse is a failure.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let executions = opened::open_all(&arguments.folders, arguments.reading)?;
    if let Some(twice) = opened::named_twice(&executions) {
        return Err(Failure::Usage(format!(
            "{} was named twice; name each execution once",
            opened::folder(twice).display()
        )));
    }
    let summaries: Vec<&Summary> = executions.iter().map(|one| &one.summary).collect();
    let metrics = compared_options(&arguments.metric, &summaries)?;
    let found = history(&executions, &metrics, arguments.threshold)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    opened::say_caveats(&executions);
    output::print(&match arguments.printed.form() {
        Form::Json => format!("{:#}\n", history_json(&found)),
        Form::Md => history_markdown(&found),
        Form::Text => history_text(&found, columns().unwrap_or(COLUMNS)),
    })?;
    check(arguments, &found)
}

fn check(arguments: &Arguments, history: &History) -> Result<(), Failure> {
    if arguments.fail_on.is_none() {
        return Ok(());
    }
    if history.judged() == 0 {
        return Err(Failure::Check(
            "nothing to judge: no series has 4 usable values".into(),
        ));
    }
    let worse = history.worse();
    let Some((first, _)) = worse.first() else {
        return Ok(());
    };
    Err(Failure::Check(format!(
        "the last change is for the worse in {} of {} series, the first: {} of {}",
        worse.len(),
        history.judged(),
        first.metric.title,
        first.cell()
    )))
}
